package zklock_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/lockbench"
	"locklab/harness/locktest"
	"locklab/internal/backend"
	"locklab/internal/leaktest"
	wirezk "locklab/internal/wire/zookeeper"
	"locklab/zklock"
	"locklab/zklock/lab"
)

// common is a server for all tests that do not harm it, each on its own nodes, see newPath.
var common *backend.Server // nil before startCommon

var startCommon = sync.OnceValue(func() (err error) {
	common, err = backend.Start(context.Background(), harness.KindZooKeeper)
	return err
})

func endpoint(t *testing.T) harness.Endpoint {
	t.Helper()
	locktest.RequireServers(t, harness.KindZooKeeper, startCommon())
	return common.Endpoint()
}

func stopCommon() error {
	if common == nil {
		return nil
	}
	return errors.Join(sweepServer(common.Endpoint()), common.Stop())
}

func sweepServer(at harness.Endpoint) error {
	if at.Username == "" {
		at.Username, at.Password = user, password // some nodes are this user's
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := wirezk.Connect(ctx, at, wirezk.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	return removeAll(c, root)
}

func removeAll(c *wirezk.Conn, path string) error {
	names, _, err := c.Children(path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	errs := []error{err}
	for _, name := range names {
		errs = append(errs, removeAll(c, path+"/"+name))
	}
	if err := c.Delete(path, -1); !errors.Is(err, zk.ErrNoNode) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func requireStarted[S interface{ Stop() error }](t *testing.T, server S, err error) S {
	t.Helper()
	locktest.RequireServers(t, harness.KindZooKeeper, err)
	t.Cleanup(func() { expectEqual(t, "the error of Stop", server.Stop(), nil) })
	return server
}

func startServer(t *testing.T, o backend.EnsembleOptions) harness.Endpoint {
	t.Helper()
	o.Servers = 1
	server, err := backend.StartEnsembleOf(t.Context(), o)
	return requireStarted(t, server, err).Endpoint()
}

func ensemble(t *testing.T) *backend.Server {
	t.Helper()
	server, err := backend.StartEnsembleOf(t.Context(), backend.EnsembleOptions{})
	requireStarted(t, server, err)
	if !server.Owned() {
		t.Skip("the servers at hand were not started here, and so are not to be killed")
	}
	return server
}

func leader(t *testing.T, server *backend.Server) int {
	t.Helper()
	i, err := server.Leader(contextWithin(t, patience))
	requireNoError(t, err)
	return i
}

// An ensemble with TLS (secureClientPort) and ACLs; the example needs files, so it is not run.
func ExampleDial() {
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(must(os.ReadFile("ca.pem")))
	mine := must(tls.LoadX509KeyPair("client.pem", "client.key"))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client := must(zklock.Dial(ctx, []string{"zk1:2281", "zk2:2281", "zk3:2281"}, zklock.ClientOptions{
		SessionTimeout: 6 * time.Second, // how long a crashed holder blocks the others
		Username:       "reindex",
		Password:       os.Getenv("ZOOKEEPER_PASSWORD"),
		TLS:            &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{mine}},
	}))
	defer client.Close()
}

// TestTLS uses a server's TLS port (secureClientPort), which requires client certificates.
func TestTLS(t *testing.T) {
	t.Parallel()
	server, err := backend.StartSetup(t.Context(), harness.KindZooKeeper, backend.Setup{TLS: true, ClientCertificate: true, Own: true})
	requireStarted(t, server, err)
	at := server.Endpoint()
	m := dialServer(t, at, zklock.ClientOptions{TLS: at.TLS}).Mutex(newPath(), zklock.Options{})
	n := dialServer(t, at, zklock.ClientOptions{TLS: at.TLS}).Mutex(m.Path(), zklock.Options{})
	for range 3 {
		handOver(t, lockNow(t, m), lockBehind(t.Context(), n.Lock))
	}
	c, err := zklock.Dial(contextWithin(t, 500*time.Millisecond), at.Addrs[0], zklock.ClientOptions{TLS: &tls.Config{RootCAs: at.TLS.RootCAs}})
	if err == nil {
		c.Close()
		t.Error("Dial succeeds without a certificate")
	} else if strings.Contains(err.Error(), "\n") {
		t.Errorf("Dial without a certificate = %q, want one line", err)
	}
}

// TestQuota: if the servers refuse more data, a release succeeds at once, and no waiter stays
// behind a free permit. A client that could not queue seals its tickets after the quota is raised.
func TestQuota(t *testing.T) {
	t.Parallel()
	at := startServer(t, backend.EnsembleOptions{Config: "enforceQuota=true"})
	see, c, path := dialRaw(t, at), dialServer(t, at, zklock.ClientOptions{}), "/limited"
	m, s := newMutex(t, at, path+"/mutex"), c.Semaphore(path+"/semaphore", 2, zklock.Options{})
	held, one, two := lockNow(t, m), acquireLock(t, s.Lock), acquireLock(t, s.Lock)
	next, first, second := lockBehind(t.Context(), m.Lock), lockBehind(t.Context(), s.Lock), lockBehind(t.Context(), s.Lock)
	createNode(t, see, "/zookeeper/quota"+path, nil, 0)
	createNode(t, see, "/zookeeper/quota"+path+"/zookeeper_stats", []byte("count=10,bytes=500"), 0)
	limits := "/zookeeper/quota" + path + "/zookeeper_limits"
	createNode(t, see, limits, []byte("count=-1,bytes=-1;byteHardLimit=1;countHardLimit=-1"), 0)
	if _, err := see.Set(path, []byte("more"), -1); err == nil {
		t.Fatal("the test shows nothing: there is no quota")
	}
	handOver(t, held, next)
	unlockLease(t, one)
	unlockLease(t, two)
	for _, l := range []*zklock.Lease{awaitLease(t, first), awaitLease(t, second)} {
		unlockLease(t, l)
	}
	setData(t, see, limits, []byte("count=-1,bytes=-1;countHardLimit=1"))
	late := dialServer(t, at, zklock.ClientOptions{})
	for _, k := range kinds {
		expectError(t, lockError(t.Context(), k.lock(late, path+"/mutex").Lock), zklock.ErrQuota)
	}
	deleteNode(t, see, limits)
	unlockLease(t, lockNow(t, late.Mutex(path+"/mutex", zklock.Options{})))
	if !zklock.Sealed(late) {
		t.Error("the client does not seal after a quota refused its probe")
	}
}

// TestMain runs more tests in parallel than there are processors: most of them wait.
func TestMain(m *testing.M) {
	locktest.Parallel(1 + max(2, runtime.GOMAXPROCS(0)))
	lockbench.Main(tests{m})
}

type tests struct{ *testing.M }

func (ts tests) Run() int {
	code := leaktest.Process{Tests: ts.M, Packages: []string{"locklab/zklock", "locklab/internal/zksession", "github.com/go-zookeeper/zk"}}.Run()
	if err := stopCommon(); err != nil {
		fmt.Fprintln(os.Stderr, "the server of all tests:", err)
		return 1
	}
	return code
}

func BenchmarkLock(b *testing.B) { lockbench.Run(b, lab.Suite) }

func TestSuite(t *testing.T) {
	suite := lab.Suite
	if testing.Short() { // TestFaults runs them too
		left := []string{"zk-herd", "zk-poll", "zk-writelock", "zk-boolean-mutex", "zk-two-level", "zk-two-level-local-first"}
		t.Logf("make test-all also runs the historical locks, which may fail, and %q", left)
		suite = slices.DeleteFunc(correctVariants(), func(v *harness.Variant) bool { return slices.Contains(left, v.Name) })
	}
	locktest.Run(t, suite)
}
