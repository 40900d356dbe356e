"""Scenarios that hold on Apache Kafka and on Headwater alike. Kafka's answer is the truth."""
