package redislock_test

import (
	"crypto/rand"
	"errors"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
)

// A migration moves the slot of the names that begin with tag to another node of a cluster.
type migration struct {
	tag      string
	slot     int64
	admin    *redis.ClusterClient
	from, to *redis.Client
	nodes    []*redis.Client
}

func newMigration(t *testing.T, r running) *migration {
	t.Helper()
	m := &migration{tag: "locks:{" + rand.Text() + "}", admin: r.admin(t).(*redis.ClusterClient)}
	var err error
	m.from, err = m.admin.MasterForKey(t.Context(), m.tag)
	requireNoError(t, err)
	m.slot = m.from.ClusterKeySlot(t.Context(), m.tag).Val()
	for _, addr := range r.Endpoint().Addrs[0] {
		node := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { node.Close() })
		if m.nodes = append(m.nodes, node); addr != m.from.Options().Addr {
			m.to = node
		}
	}
	return m
}

// begin redirects requests for missing keys to the other node.
func (m *migration) begin(t *testing.T) {
	t.Helper()
	m.set(t, m.to, "importing", m.from)
	m.set(t, m.from, "migrating", m.to)
}

func (m *migration) end(t *testing.T) {
	t.Helper()
	m.set(t, m.to, "node", m.to)
	for _, node := range m.nodes {
		m.set(t, node, "node", m.to)
	}
}

func (m *migration) set(t *testing.T, at *redis.Client, state string, node *redis.Client) {
	t.Helper()
	id, err := node.Do(t.Context(), "cluster", "myid").Text()
	requireNoError(t, errors.Join(err, at.Do(t.Context(), "cluster", "setslot", m.slot, state, id).Err()))
}

func (m *migration) move(t *testing.T, keys ...string) {
	t.Helper()
	host, port, _ := net.SplitHostPort(m.to.Options().Addr)
	args := []any{"migrate", host, port, "", 0, 5000, "keys"}
	for _, key := range keys {
		args = append(args, key)
	}
	requireNoError(t, m.from.Do(t.Context(), args...).Err())
}

func (m *migration) moveAll(t *testing.T) {
	t.Helper()
	for {
		keys, err := m.from.ClusterGetKeysInSlot(t.Context(), int(m.slot), 100).Result()
		requireNoError(t, err)
		if len(keys) == 0 {
			return
		}
		m.move(t, keys...)
	}
}
