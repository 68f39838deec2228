package measure

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/result"
	"locklab/internal/backend"
	"locklab/internal/faultproxy"
	"locklab/internal/leaktest"
	"locklab/internal/machine"
	"locklab/internal/stat"
	wireredis "locklab/internal/wire/redis"
	redislab "locklab/redislock/lab"
	zklab "locklab/zklock/lab"
)

// A distance is a server behind a proxy, with a lock on it.
type distance struct {
	*faultproxy.Proxy
	at   harness.Endpoint // the proxy's
	lock *harness.Variant

	mu  sync.Mutex
	ops []string // requests on any connection, each once
}

// A far is a kind of server and a lock on it.
type far struct {
	kind, lock string
	suite      []*harness.Variant
	framing    func() faultproxy.Framing
	bare       string   // the name of a bare request
	others     []string // requests of the connection itself
}

var served = []far{
	{harness.KindRedis, "redis-queue", redislab.Suite, faultproxy.Redis, "ping", []string{"hello", "client"}},
	{harness.KindZooKeeper, "zk-handoff", zklab.Suite, faultproxy.ZooKeeper, "exists", []string{"connect", "ping", "closeSession"}},
}

func distanceBehind(t *testing.T, s far, at harness.Endpoint) *distance {
	t.Helper()
	d := &distance{at: at}
	var err error
	d.Proxy, err = faultproxy.New(d.at.Addrs[0][0], s.framing, faultproxy.Options{Observe: d.note})
	requireNoError(t, err)
	t.Cleanup(func() { d.Close() })
	d.at.Addrs = [][]string{{d.Addr()}}
	k := slices.IndexFunc(s.suite, func(v *harness.Variant) bool { return v.Name == s.lock })
	if k < 0 {
		t.Fatalf("there is no lock %s", s.lock)
	}
	d.lock = s.suite[k]
	return d
}

func (d *distance) note(s faultproxy.Sighting) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.Dir == faultproxy.Request && !slices.Contains(d.ops, s.Op) {
		d.ops = append(d.ops, s.Op)
	}
}

func (d *distance) asked() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	ops := d.ops
	d.ops = nil
	return ops
}

func (d *distance) open(t *testing.T) *Rig {
	t.Helper()
	return openRig(t, Job{Lock: d.lock, At: d.at, Key: t.Name(), Workload: harness.Workload{Workers: 1, Window: time.Second}})
}

func TestRoundTrip(t *testing.T) {
	for _, s := range served {
		t.Run(s.kind, func(t *testing.T) {
			at := locktest.Endpoint(t, s.kind)
			t.Run("late", func(t *testing.T) { testLate(t, distanceBehind(t, s, at)) })
			t.Run("apart", func(t *testing.T) { testApart(t, s, distanceBehind(t, s, at)) })
			t.Run("without", func(t *testing.T) { testWithout(t, s, distanceBehind(t, s, at)) })
			t.Run("first", func(t *testing.T) { testFirst(t, s, distanceBehind(t, s, at), distanceBehind(t, s, at)) })
		})
	}
}

// testLate: a delay of the replies adds to the round trip.
func testLate(t *testing.T, d *distance) {
	rig := d.open(t)
	for _, late := range []time.Duration{0, 5 * time.Millisecond} {
		d.Delay(faultproxy.Reply, late)
		r, err := rig.DriveProbed(t.Context(), Limit{Ops: 8}, func() {}, func() {})
		if err != nil || len(r.Violations) > 0 || !(r.RoundTrip > float64(late)) || r.Transfer != 0 {
			t.Fatalf("%+v, %v: want a round trip of more than %v, and no transfer", r, err, late)
		}
		// Both requests of an acquisition are as late.
		if share := r.RoundTrip * float64(r.Ops) / float64(r.Elapsed); late > 0 && share > 0.75 {
			t.Errorf("a bare round trip is %.2f of an acquisition of the free lock, want well under it", share)
		}
	}
}

// testApart: the round trips are in no count of the lock, on their own connection.
func testApart(t *testing.T, s far, d *distance) {
	leaktest.All(t)
	rig := d.open(t)
	const ops = 50
	requests := func(drive func(context.Context, Limit) (*result.Result, error)) uint64 {
		r, err := drive(t.Context(), Limit{Ops: ops})
		if err != nil || r.Wire == nil || r.Wire.Notifications != 0 || r.Ops != ops {
			t.Fatalf("%+v, %v", r, err)
		}
		return r.Wire.Requests
	}
	requests(rig.Drive) // its first acquisitions may cost more
	conns, bare := d.Conns(), d.Seen(s.bare)
	without := requests(rig.Drive)
	if got := d.Seen(s.bare); got != bare {
		t.Fatalf("the lock itself asks for %s: %d times", s.bare, got-bare)
	}
	with := requests(func(ctx context.Context, limit Limit) (*result.Result, error) {
		return rig.DriveProbed(ctx, limit, func() {}, func() {})
	})
	if with != without || with < ops {
		t.Errorf("%d acquisitions took %d requests with the round trips measured, %d without", ops, with, without)
	}
	if got := d.Seen(s.bare) - bare; got < 2*(tripsSkipped+tripsLeast) || got > 2*(tripsSkipped+tripsMost) {
		t.Errorf("%d bare requests were sent", got)
	}
	for end := time.Now().Add(5 * time.Second); d.Conns() != conns; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("there are %d connections, and there were %d before", d.Conns(), conns)
		}
	}
	d.asked()
	if samples := roundTrips(t.Context(), rig.in.Clock, d.at); len(samples) < tripsLeast {
		t.Fatalf("%d samples", len(samples))
	}
	for _, op := range d.asked() {
		if op != s.bare && !slices.Contains(s.others, op) {
			t.Errorf("the connection of the round trips asked for %q", op)
		}
	}
}

func testWithout(t *testing.T, s far, d *distance) {
	leaktest.All(t)
	d.at.SessionTimeout = 4 * time.Second // a client that is closed without an answer keeps its socket for that long
	in := instruments()
	none := func(what string) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		begin := time.Now()
		if samples := roundTrips(ctx, in.Clock, d.at); samples != nil {
			t.Errorf("%s: %d samples", what, len(samples))
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%s: gave up after %v", what, took)
		}
	}
	lost := d.Inject(faultproxy.Fault{Match: faultproxy.Op(s.bare), Skip: tripsSkipped + 1, Times: 1 << 20})
	none("it breaks the connection at each request but the first")
	lost.Remove()
	d.BlackHole(faultproxy.Reply, true)
	none("it never answers")
	d.BlackHole(faultproxy.Reply, false)
	d.Refuse(true)
	none("it refuses connections")
}

func TestRoundTripNowhere(t *testing.T) {
	in := instruments()
	for _, at := range []harness.Endpoint{{}, {Kind: harness.KindRedis}, {Kind: "oracle", Addrs: [][]string{{"127.0.0.1:1"}}}, {Kind: harness.KindZooKeeper, Addrs: [][]string{{}}}} {
		if samples := roundTrips(t.Context(), in.Clock, at); samples != nil {
			t.Errorf("%+v: %d samples", at, len(samples))
		}
	}
	far := new(shelf).variant(harness.Traits{}) // whose endpoint is nowhere
	r, err := Measure(t.Context(), in, Job{Lock: far, Workload: harness.Workload{Workers: 1, Window: 300 * time.Millisecond}})
	if err != nil || len(r.Violations) > 0 || r.Ops == 0 || r.RoundTrip != 0 {
		t.Errorf("%+v, %v: want a result without a round trip", r, err)
	}
}

// testFirst: the request goes to the first server, and the first member.
func testFirst(t *testing.T, s far, one, two *distance) {
	at := one.at
	at.Addrs = [][]string{{one.Addr(), two.Addr()}, {two.Addr()}}
	if samples := roundTrips(t.Context(), instruments().Clock, at); len(samples) < tripsLeast {
		t.Errorf("%d samples", len(samples))
	}
	if n := two.Seen(s.bare); n > 0 {
		t.Errorf("the second server was asked %d times", n)
	}
}

// TestRoundTripRights: over TLS, with a password, and as a user with no other rights.
func TestRoundTripRights(t *testing.T) {
	at := startServer(t, harness.KindRedis, backend.Setup{TLS: true}).Endpoint()
	admin, _, err := wireredis.Connect(at, func(o *redis.Options) { o.PoolSize = 1 })
	requireNoError(t, err)
	defer admin.Close()
	for rights, may := range map[string]bool{"+ping": true, "+time": true, "+get": false} {
		requireNoError(t, admin.Do(t.Context(), "acl", "setuser", "tester", "reset", "on", ">secret", rights).Err())
		user := at
		user.Username, user.Password = "tester", "secret"
		if samples := roundTrips(t.Context(), instruments().Clock, user); may != (len(samples) >= tripsLeast) {
			t.Errorf("with the rights %s: %d samples", rights, len(samples))
		}
		user.Password = "guess"
		if samples := roundTrips(t.Context(), instruments().Clock, user); samples != nil {
			t.Errorf("with a wrong password: %d samples", len(samples))
		}
	}
}

// TestTransfers probes until one succeeds: on a busy machine two threads seldom run at once.
func TestTransfers(t *testing.T) {
	in := instruments()
	cpus := in.Topology.CPUs()
	if len(cpus) < 2 {
		t.Skip("one processor")
	}
	if locktest.RaceDetector {
		t.Skip("under the race detector a compare-and-swap takes microseconds, and its spinning threads stop each other")
	}
	done := make(chan error)
	go func() { done <- machine.PinThread(cpus[0]) }() // on any thread: it is useless afterwards
	if err := <-done; err != nil {
		t.Skip(err)
	}
	for range 200 {
		samples := transfers(in.Clock, cpus)
		if samples == nil {
			continue
		}
		if len(samples) < transferLeast || len(samples) > transferMost {
			t.Errorf("%d samples", len(samples))
		}
		if ns := stat.Median(samples); !(ns > 0.1) || ns > float64(transferPatient) {
			t.Errorf("a transfer takes %v ns", ns)
		}
		return
	}
	t.Error("200 probes, none good")
}

func TestTransfersWithout(t *testing.T) {
	in := instruments()
	if samples := (&Rig{in: in, job: Job{Lock: good}, dead: true}).probe(t.Context()); samples != nil {
		t.Errorf("beside stuck workers: %d samples", len(samples))
	}
	first := in.Topology.CPUs()[0]
	for _, cpus := range [][]int{nil, {first}, {first, first}, {first, 1 << 14}, {1 << 14, first}, {-1, -2}} {
		if samples := transfers(in.Clock, cpus); samples != nil {
			t.Errorf("processors %v: %d samples", cpus, len(samples))
		}
	}
}

func TestDeserted(t *testing.T) {
	in := instruments()
	begin := time.Now()
	if samples := new(ferry).timeTrips(in.Clock); samples != nil {
		t.Errorf("a leader alone took %d samples", len(samples))
	}
	f := new(ferry)
	f.stop.Store(true)
	f.follow()
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("they gave up after %v", took)
	}
}

func TestBracket(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after []float64
		want          float64
		warns         string // part of it, "" for none
	}{
		{"steady", []float64{29, 30, 31}, []float64{31, 32, 33}, 31, ""},
		{"slower", []float64{29, 30, 31}, []float64{99, 100, 101, 102, 103}, 99.5, "a word took 30 ns from one processor to the other before the window and 101 ns after"},
		{"faster", []float64{100}, []float64{30}, 65, "100 ns"},
		{"just not", []float64{100}, []float64{150}, 125, ""},
		{"no second", []float64{30}, nil, 0, ""},
		{"no first", nil, []float64{30}, 0, ""},
	} {
		for _, kind := range []string{"", harness.KindRedis} {
			r := new(result.Result)
			r.Lock.Traits.Needs = kind
			got, other, scale, warns := &r.Transfer, &r.RoundTrip, 1.0, c.warns
			if kind != "" { // as many microseconds
				got, other, scale = other, got, 1e3
				warns = strings.NewReplacer("ns", "µs", " from one processor to the other", "", "a word", "a bare request to redis").Replace(warns)
			}
			bracket(r, scaleBy(c.before, scale), scaleBy(c.after, scale))
			if math.Abs(*got-c.want*scale) > 1e-9*scale || *other != 0 {
				t.Errorf("%s %s: %v ns, want %v; the other one %v", c.name, kind, *got, c.want*scale, *other)
			}
			switch {
			case warns == "" && len(r.Warnings) != 0:
				t.Errorf("%s %s: warnings %v, want none", c.name, kind, r.Warnings)
			case warns != "" && (len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, warns) || r.Warnings[0].Remedy == ""):
				t.Errorf("%s %s: warnings %v, want one with %q and a remedy", c.name, kind, r.Warnings, warns)
			}
		}
	}
	for kind, most := range map[string]float64{"": 1.5, harness.KindZooKeeper: 2} {
		r := &result.Result{Lock: result.Lock{Traits: harness.Traits{Needs: kind}}}
		bracket(r, []float64{100}, []float64{100 * most})
		if len(r.Warnings) > 0 {
			t.Errorf("a change of %v times: %v", most, r.Warnings)
		}
		if bracket(r, []float64{100 * most}, []float64{99}); len(r.Warnings) != 1 {
			t.Errorf("a change of more than %v times: %v", most, r.Warnings)
		}
	}
}

func scaleBy(xs []float64, by float64) []float64 {
	return result.Each(xs, func(x float64) float64 { return by * x })
}
