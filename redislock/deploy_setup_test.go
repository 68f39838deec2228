package redislock_test

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/backend"
	"locklab/redislock"
)

type deployment struct {
	name  string
	setup backend.Setup

	// dial sets the connection options of a service.
	dial func(t *testing.T, s *backend.Server, o *redis.UniversalOptions)
}

var deployments = []deployment{
	{"single", backend.Setup{Own: true}, func(*testing.T, *backend.Server, *redis.UniversalOptions) {}},
	{"sentinel", backend.Setup{Layout: backend.Sentinel}, func(_ *testing.T, s *backend.Server, o *redis.UniversalOptions) {
		o.Addrs, o.MasterName = s.Sentinels(), backend.SentinelMaster
	}},
	{"cluster", backend.Setup{Layout: backend.Cluster}, func(*testing.T, *backend.Server, *redis.UniversalOptions) {}},
	{"TLS", backend.Setup{TLS: true, Own: true}, func(_ *testing.T, s *backend.Server, o *redis.UniversalOptions) {
		o.TLSConfig = s.Endpoint().TLS
	}},
	{"ACL", backend.Setup{Own: true}, func(t *testing.T, _ *backend.Server, o *redis.UniversalOptions) {
		aclUser(t, *o, aclUserName, documentedACL(t))
		o.Username, o.Password = aclUserName, aclPassword
	}},
}

type running struct {
	deployment
	*backend.Server
	options redis.UniversalOptions
	called  string // ClientOptions.Name
}

func startAll(t *testing.T, ds ...deployment) (serving []running) {
	t.Helper()
	rs := make([]running, len(ds))
	errs := make([]error, len(ds))
	var all sync.WaitGroup
	for i, d := range ds {
		all.Go(func() { rs[i].Server, errs[i] = backend.StartSetup(t.Context(), harness.KindRedis, d.setup) })
	}
	all.Wait()
	for i, s := range rs {
		if errs[i] == nil {
			t.Cleanup(func() { expectNoError(t, s.Stop()) })
		}
	}
	for i, d := range ds {
		if errs[i] != nil {
			t.Run(d.name, func(t *testing.T) { locktest.RequireServers(t, harness.KindRedis, errs[i]) })
			continue
		}
		rs[i].deployment, rs[i].options.Addrs = d, rs[i].Endpoint().Addrs[0]
		d.dial(t, rs[i].Server, &rs[i].options)
		serving = append(serving, rs[i])
	}
	if len(serving) == 0 {
		t.Skip("there is no server")
	}
	return serving
}

func startSingle(t *testing.T) running {
	t.Helper()
	t.Parallel()
	return startAll(t, deployments[0])[0]
}

func (r running) connect(t *testing.T) redis.UniversalClient {
	t.Helper()
	o := r.options
	rdb := redis.NewUniversalClient(&o)
	t.Cleanup(func() { rdb.Close() })
	return rdb
}

func (r running) client(t *testing.T) *redislock.Client {
	t.Helper()
	c := redislock.NewClient(r.connect(t), redislock.ClientOptions{Name: r.called})
	t.Cleanup(func() { expectNoError(t, c.Close()) })
	return c
}

func (r running) admin(t *testing.T) redis.UniversalClient {
	r.options.Username, r.options.Password, r.options.CredentialsProvider = "", "", nil
	return r.connect(t)
}

func newName() string { return "locks:" + rand.Text() }

type tryLocker interface {
	redislock.Lockable
	TryLock(ctx context.Context) (*redislock.Lease, error)
}

type lockKind struct {
	name   string
	make   func(c *redislock.Client, name string, o redislock.Options) tryLocker
	fenced bool
}

// lockKinds is in the order of Suite, without Redlock, which has separate tests.
var lockKinds = []lockKind{
	{"Mutex", maker((*redislock.Client).Mutex), true},
	{"Reentrant", maker((*redislock.Client).Reentrant), false},
	{"PollMutex", func(c *redislock.Client, name string, o redislock.Options) tryLocker {
		return c.PollMutex(name, redislock.PollOptions{Options: o})
	}, false},
	{"PubSubMutex", maker((*redislock.Client).PubSubMutex), false},
	{"RWMutex", maker((*redislock.Client).RWMutex), true},
	{"Semaphore", func(c *redislock.Client, name string, o redislock.Options) tryLocker {
		return c.Semaphore(name, 1, o)
	}, true},
	{"Multi", func(c *redislock.Client, name string, o redislock.Options) tryLocker {
		return c.Multi([]string{name, name + ":b", name + ":a"}, o)
	}, true},
	{"Cohort", func(c *redislock.Client, name string, o redislock.Options) tryLocker {
		return c.Cohort(name, redislock.CohortOptions{Options: o})
	}, true},
}

func maker[L tryLocker](make func(*redislock.Client, string, redislock.Options) L) func(*redislock.Client, string, redislock.Options) tryLocker {
	return func(c *redislock.Client, name string, o redislock.Options) tryLocker { return make(c, name, o) }
}

const aclUserName, aclPassword = "locks", "hunter2hunter2"

// documentedACL returns the words of ACL SETUSER in the package comment, after the user.
func documentedACL(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	requireNoError(t, err)
	_, tail, found := strings.Cut(string(text), "//	ACL SETUSER locks ")
	block, _, ended := strings.Cut(tail, "\n//\n")
	if !found || !ended {
		t.Fatal("doc.go has no line that begins with ACL SETUSER locks")
	}
	words := strings.Fields(strings.ReplaceAll(block, "\n//", "\n"))
	for i, word := range words {
		if strings.HasPrefix(word, ">") {
			words[i] = ">" + aclPassword
		}
	}
	return words
}

func aclUser(t *testing.T, o redis.UniversalOptions, name string, rules []string) {
	t.Helper()
	admin := redis.NewUniversalClient(&o)
	defer admin.Close()
	args := []any{"ACL", "SETUSER", name, "reset"}
	for _, rule := range rules {
		args = append(args, rule)
	}
	requireNoError(t, admin.Do(t.Context(), args...).Err())
}
