// kafkajs against a broker: one scenario per run, named on the command line. A scenario that does
// not hold throws, and the exit status says so.
//
// Arguments: bootstrap servers, scenario, a name that no other run uses, and what the scenario wants.
// kafkajs is found through NODE_PATH: it is installed outside of the repository.
'use strict'

const assert = require('node:assert/strict')
const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = require('kafkajs')
const SnappyCodec = require('kafkajs-snappy')

CompressionCodecs[CompressionTypes.Snappy] = SnappyCodec

const [bootstrap, scenario, name, option] = process.argv.slice(2)
const kafka = new Kafka({ clientId: 'kafkajs', brokers: [bootstrap], logLevel: logLevel.ERROR })
const opened = []

const scenarios = {
  async codec() {
    await createTopic(1)
    const compression = { none: 0, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy }[option]
    const values = numbers(300).map((number) => `value ${number} `.repeat(20))
    await produce(values, { compression })
    assert.deepEqual((await read(300)).map(({ message }) => message.value.toString()), values)
  },

  async record() {
    await createTopic(1)
    const timestamp = String(Date.now() - 12345)
    const producer = await connected(kafka.producer())
    await producer.send({
      topic: name,
      messages: [{ key: 'k', value: 'v', headers: { a: '1' }, timestamp }],
    })
    const [{ message }] = await read(1)
    assert.equal(message.key.toString(), 'k')
    assert.equal(message.headers.a.toString(), '1')
    assert.equal(message.timestamp, timestamp)
  },

  async acks() {
    await createTopic(1)
    await produce(numbers(100), { acks: Number(option) })
    assert.equal((await read(100)).length, 100)
  },

  async idempotent() {
    await createTopic(1)
    const producer = await connected(kafka.producer({ idempotent: true, maxInFlightRequests: 1 }))
    for (let start = 0; start < 1000; start += 100) {
      const messages = numbers(100).map((number) => ({ value: String(start + Number(number)) }))
      const [sent] = await producer.send({ topic: name, messages, acks: -1 })
      assert.equal(sent.baseOffset, String(start))
    }
    assert.deepEqual((await read(1000)).map(({ message }) => message.value.toString()), numbers(1000))
  },

  async transactions() {
    await createTopic(1)
    const producer = await connected(
      kafka.producer({ transactionalId: name, idempotent: true, maxInFlightRequests: 1 }),
    )
    for (const number of numbers(20)) {
      const bad = await producer.transaction()
      await bad.send({ topic: name, messages: [{ value: 'aborted' }] })
      await bad.abort()
      const good = await producer.transaction()
      await good.send({ topic: name, messages: [{ value: number }] })
      const topics = [{ topic: name, partitions: [{ partition: 0, offset: number }] }]
      await good.sendOffsets({ consumerGroupId: `${name}-worker`, topics })
      await good.commit()
    }
    // A reader of kafkajs sees committed records only.
    assert.deepEqual((await read(20)).map(({ message }) => message.value.toString()), numbers(20))
    const admin = await connected(kafka.admin())
    const [{ partitions }] = await admin.fetchOffsets({ groupId: `${name}-worker`, topics: [name] })
    assert.equal(partitions[0].offset, '19')
  },

  async rebalance() {
    await createTopic(4)
    const first = await member()
    await until(() => first.partitions().length === 4)
    const second = await member()
    await until(() => first.partitions().length === 2 && second.partitions().length === 2)
    assert.deepEqual([...first.partitions(), ...second.partitions()].sort(), [0, 1, 2, 3])
    await second.consumer.disconnect()
    await until(() => first.partitions().length === 4)
  },

  async commit() {
    await createTopic(1)
    await produce(numbers(10))
    const admin = await connected(kafka.admin())
    await admin.setOffsets({ groupId: name, topic: name, partitions: [{ partition: 0, offset: '4' }] })
    assert.deepEqual((await read(6)).map(({ message }) => message.offset), ['4', '5', '6', '7', '8', '9'])
  },

  async seek() {
    await createTopic(1)
    await produce(numbers(10))
    const messages = await read(3, (consumer) => consumer.seek({ topic: name, partition: 0, offset: '7' }))
    assert.deepEqual(messages.map(({ message }) => message.offset), ['7', '8', '9'])
  },

  async times() {
    await createTopic(1)
    const start = Date.now() - 100_000
    const producer = await connected(kafka.producer())
    for (let index = 0; index < 10; index++) {
      const timestamp = String(start + 1000 * index)
      await producer.send({ topic: name, messages: [{ value: 'x', timestamp }] })
    }
    const admin = await connected(kafka.admin())
    assert.deepEqual(await admin.fetchTopicOffsetsByTimestamp(name, start + 3500), [
      { partition: 0, offset: '4' },
    ])
  },

  async 'admin-topics'() {
    const admin = await connected(kafka.admin())
    assert.equal(await admin.createTopics({ topics: [{ topic: name, numPartitions: 2 }] }), true)
    assert.ok((await admin.listTopics()).includes(name))
    await admin.createPartitions({ topicPartitions: [{ topic: name, count: 5 }] })
    await until(async () => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [name] })
      return topics[0].partitions.length === 5
    })
    await admin.deleteTopics({ topics: [name] })
    await until(async () => !(await admin.listTopics()).includes(name))
  },

  async 'admin-configs'() {
    await createTopic(1)
    const admin = await connected(kafka.admin())
    const retention = async () => {
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: [{ type: 2, name, configNames: ['retention.ms'] }],
      })
      return resources[0].configEntries[0].configValue
    }
    assert.equal(await retention(), '604800000')
    await admin.alterConfigs({
      resources: [{ type: 2, name, configEntries: [{ name: 'retention.ms', value: '777' }] }],
    })
    await until(async () => (await retention()) === '777')
  },

  async 'admin-records'() {
    await createTopic(1)
    await produce(numbers(10))
    const admin = await connected(kafka.admin())
    // It deletes only in topics whose metadata it has loaded before.
    await admin.fetchTopicOffsets(name)
    await admin.deleteTopicRecords({ topic: name, partitions: [{ partition: 0, offset: '6' }] })
    const [offsets] = await admin.fetchTopicOffsets(name)
    assert.deepEqual({ low: offsets.low, high: offsets.high }, { low: '6', high: '10' })
  },

  async 'admin-groups'() {
    await createTopic(1)
    await produce(numbers(10))
    const admin = await connected(kafka.admin())
    const { consumer } = await member()
    await until(async () => {
      const { groups } = await admin.describeGroups([name])
      return groups[0].state === 'Stable' && groups[0].members.length === 1
    })
    assert.ok((await admin.listGroups()).groups.some(({ groupId }) => groupId === name))
    await consumer.disconnect()
    await admin.setOffsets({ groupId: name, topic: name, partitions: [{ partition: 0, offset: '2' }] })
    const [topic] = await admin.fetchOffsets({ groupId: name, topics: [name] })
    assert.equal(topic.partitions[0].offset, '2')
    await admin.deleteGroups([name])
    assert.ok(!(await admin.listGroups()).groups.some(({ groupId }) => groupId === name))
  },

  async 'admin-cluster'() {
    const admin = await connected(kafka.admin())
    const { brokers, clusterId } = await admin.describeCluster()
    assert.deepEqual(brokers.map(({ host, port }) => `${host}:${port}`), [bootstrap])
    assert.ok(clusterId)
  },
}

async function connected(client) {
  await client.connect()
  opened.push(client)
  return client
}

async function createTopic(numPartitions) {
  const admin = await connected(kafka.admin())
  await admin.createTopics({ topics: [{ topic: name, numPartitions }], waitForLeaders: true })
}

async function produce(values, settings = {}) {
  const producer = await connected(kafka.producer())
  await producer.send({ topic: name, messages: values.map((value) => ({ value })), ...settings })
}

function newConsumer() {
  // It sends no heartbeat while a fetch waits, so a short wait makes rebalances quick.
  return kafka.consumer({
    groupId: name,
    sessionTimeout: 6000,
    heartbeatInterval: 300,
    rebalanceTimeout: 6000,
    maxWaitTimeInMs: 200,
  })
}

async function read(count, started = () => {}) {
  const consumer = await connected(newConsumer())
  await consumer.subscribe({ topics: [name], fromBeginning: true })
  const messages = []
  const done = new Promise((resolve) => {
    consumer.run({
      eachMessage: async (received) => {
        messages.push(received)
        if (messages.length === count) resolve()
      },
    })
  })
  started(consumer)
  await done
  return messages
}

async function member() {
  const consumer = await connected(newConsumer())
  let owned = []
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    owned = payload.memberAssignment[name] ?? []
  })
  await consumer.subscribe({ topics: [name], fromBeginning: true })
  await consumer.run({ eachMessage: async () => {} })
  return { consumer, partitions: () => owned }
}

async function until(condition) {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20))
}

function numbers(count) {
  return Array.from({ length: count }, (_, index) => String(index))
}

async function main() {
  const timer = setTimeout(() => {
    console.error(`${scenario} did not come to an end`)
    process.exit(1)
  }, 45_000)
  await scenarios[scenario]()
  await Promise.all(opened.map((client) => client.disconnect()))
  clearTimeout(timer)
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
