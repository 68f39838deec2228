package predict_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/predict"
	"locklab/internal/synthetic"
)

// upTo returns numbers of workers up to most; those up to a tenth calibrate the model.
func upTo(most int) (workers []int) {
	for _, n := range []int{1, 2, 5, 10, 20, 50, 100, 300, 1000, 3000} {
		if n <= most {
			workers = append(workers, n)
		}
	}
	return workers
}

var machine = predict.Machine{Processors: 2, Memory: 16 << 30}

func crowdOf(t *testing.T, c synthetic.Crowd, workers []int, edits ...func(r *harness.Result)) (*predict.Crowd, string) {
	t.Helper()
	byWorkers := make(map[int][]*harness.Result)
	for _, r := range synthetic.Crowds(3, workers, c).Results {
		for _, edit := range edits {
			edit(r)
		}
		byWorkers[r.Workload.Workers] = append(byWorkers[r.Workload.Workers], r)
	}
	m := predict.New(c.Lock, func(n int) []*harness.Result { return byWorkers[n] }).Counted(c.Trips)
	return predict.NewCrowd(m, workers, machine)
}

func near(got, want, share float64) bool { return math.Abs(got/want-1) <= share }

func TestCrowdRecovered(t *testing.T) {
	square := synthetic.Herd("square")
	square.Period = func(n float64) time.Duration {
		return 500*time.Microsecond + time.Duration(40000*(n-1)+700*(n-1)*(n-1))
	}
	for _, lock := range []synthetic.Crowd{synthetic.Queue("queue"), synthetic.Herd("herd"), square, synthetic.Polling("poll", time.Second)} {
		c, why := crowdOf(t, lock, upTo(1000))
		if why != "" {
			t.Errorf("%s: %s", lock.Lock.Name, why)
			continue
		}
		if c.Fitted() != 100 {
			t.Errorf("%s is calibrated up to %d contenders, want 100", lock.Lock.Name, c.Fitted())
		}
		for _, n := range []int{7, 300, 1000, 10_000} {
			e, why := c.At(n, 0)
			want := 1e9 / float64(lock.Period(float64(n)))
			if why != "" || !near(e.Rate.Value, want, 0.01) || !(e.Rate.Lo <= e.Rate.Value && e.Rate.Value <= e.Rate.Hi) {
				t.Errorf("%s with %d contenders: %+v hand-overs a second, want %v; %s", lock.Lock.Name, n, e.Rate, want, why)
			}
			if want := float64(n)*1e9/want - float64(lock.Release); lock.Lock.Traits.FIFO && (e.NoWait != "" || !near(e.Wait.Value, want, 0.01)) {
				t.Errorf("%s with %d contenders waits %+v, want %v; %s", lock.Lock.Name, n, e.Wait, want, e.NoWait)
			}
			if !lock.Lock.Traits.FIFO && (e.NoWait == "" || e.Wait != (predict.Time{})) {
				t.Errorf("%s serves in no order, and waits %+v", lock.Lock.Name, e.Wait)
			}
		}
		left := c.LeftOut()
		if len(left) != 2 {
			t.Fatalf("%s: %d points are left out, want 300 and 1000", lock.Lock.Name, len(left))
		}
		for _, m := range left {
			if e, ok := m.Error(predict.Rate); !ok || !(math.Abs(e) < 0.01) {
				t.Errorf("%s with %d contenders is missed by %v; %s", lock.Lock.Name, m.Point.Contenders, e, m.Why)
			}
		}
	}
}

func TestCrowdBound(t *testing.T) {
	busy := synthetic.Queue("busy")
	busy.Server = func(n float64) time.Duration { return time.Duration(5000 * n) }
	busy.Period = func(n float64) time.Duration { return max(time.Millisecond, busy.Server(n)) }
	c, why := crowdOf(t, busy, upTo(1000))
	if why != "" {
		t.Fatal(why)
	}
	for n, want := range map[int]float64{100: 1000, 300: 1e6 / 1500, 1000: 200, 10_000: 20} {
		if e, why := c.At(n, 0); why != "" || !near(e.Rate.Value, want, 0.01) {
			t.Errorf("with %d contenders %+v, want %v hand-overs a second; %s", n, e.Rate, want, why)
		}
	}
}

// TestCrowdRefuted checks that the points left out refute the model if the cost of a lock
// grows in a way that the calibration does not show. The error is reported, and nothing
// is extrapolated.
func TestCrowdRefuted(t *testing.T) {
	hidden := synthetic.Queue("hidden") // grows by the square, and its messages do not
	hidden.Period = func(n float64) time.Duration { return time.Millisecond + time.Duration(100*n*n) }
	c, why := crowdOf(t, hidden, upTo(1000))
	if why != "" {
		t.Fatal(why)
	}
	left := c.LeftOut()
	last := left[len(left)-1]
	if e, ok := last.Error(predict.Rate); !ok || !(e > 1) {
		t.Errorf("at %d contenders the error is %v, want more than 1", last.Point.Contenders, e)
	}
	if _, why := c.At(10_000, 0); !strings.Contains(why, "refuted: with 1000 contenders") {
		t.Errorf("extrapolated in spite of its error: %q", why)
	}
}

func TestCrowdNotKnown(t *testing.T) {
	trips := func(f func(c *synthetic.Crowd)) synthetic.Crowd {
		c := synthetic.Queue("queue")
		f(&c)
		return c
	}
	for _, test := range []struct {
		lock    synthetic.Crowd
		workers []int
		want    string
	}{
		{synthetic.Queue("queue"), []int{1}, "no hand-over"},
		{synthetic.Queue("queue"), []int{1, 8}, "0 numbers of workers up to a tenth of the most, 8"},
		{synthetic.Queue("queue"), []int{4, 8, 16, 100}, "2 numbers of workers"},
		{trips(func(c *synthetic.Crowd) { c.Trips = nil }), upTo(1000), "not counted"},
		{trips(func(c *synthetic.Crowd) { c.Trips = &harness.Trips{Lock: c.Trips.Lock} }), upTo(1000), "several may hold it"},
	} {
		if c, why := crowdOf(t, test.lock, test.workers); !strings.Contains(why, test.want) || c == nil {
			t.Errorf("with %v workers: %q, want %q", test.workers, why, test.want)
		}
	}
	few, why := crowdOf(t, synthetic.Queue("queue"), []int{1, 2, 5, 10, 100})
	if why == "" {
		t.Error("with 2 workers the queue is empty now and then, and it is a point of the calibration:", few.Fitted())
	}
}

func TestCrowdFar(t *testing.T) {
	const trip = 50e6
	for _, workers := range [][]int{upTo(1000), upTo(1000)[1:]} { // with a single worker, and without
		c, why := crowdOf(t, synthetic.Queue("queue"), workers)
		if why != "" {
			t.Fatal(why)
		}
		e, why := c.At(10_000, trip)
		if why != "" || !near(e.Rate.Value, 1e9/trip, 0.02) || !near(e.Wait.Value, 10_000*trip, 0.02) {
			t.Errorf("at 50 ms %+v, %s", e, why)
		}
	}
	some := func(r *harness.Result) { // as of ranks whose round trips differ
		if r.Workload.Workers != 20 {
			r.RoundTrip = 0
		}
	}
	c, _ := crowdOf(t, synthetic.Queue("queue"), upTo(1000), some)
	if e, why := c.At(10_000, trip); why != "" || !near(e.Rate.Value, 1e9/trip, 0.02) {
		t.Errorf("with a round trip of one point only %+v, %s", e, why)
	}
	c, _ = crowdOf(t, synthetic.Queue("queue"), upTo(1000), func(r *harness.Result) { r.RoundTrip = 0 })
	if _, why := c.At(10_000, trip); !strings.Contains(why, "no bare round trip") {
		t.Errorf("without a round trip: %q", why)
	}
	herd, _ := crowdOf(t, synthetic.Herd("herd"), upTo(1000))
	close, _ := herd.At(100_000, 0)
	if e, why := herd.At(100_000, trip); why != "" || !(e.Rate.Value < close.Rate.Value) || !near(e.Rate.Value, close.Rate.Value, 0.05) {
		t.Errorf("a herd that takes 5 s near its servers takes %+v at 50 ms, near %+v; %s", e.Rate, close.Rate, why)
	}
	poll, _ := crowdOf(t, synthetic.Polling("poll", time.Second), upTo(1000))
	if _, why := poll.At(1000, trip); !strings.Contains(why, "polls") {
		t.Errorf("a lock that polls at 50 ms: %q", why)
	}
}

func TestBreaches(t *testing.T) {
	for _, test := range []struct {
		lock  synthetic.Crowd
		first string
		at    float64
	}{
		{synthetic.Queue("queue"), "maxclients", 5000},
		{synthetic.Herd("herd"), "maxClientCnxns", 60},
		{synthetic.Polling("poll", 100*time.Millisecond), "polls", 2000},
		{synthetic.Polling("poll", time.Second), "maxclients", 10_000},
	} {
		c, why := crowdOf(t, test.lock, upTo(1000))
		if why != "" {
			t.Fatal(why)
		}
		b := c.Breaches()
		if len(b) == 0 || b[0].Limit.Name != test.first || !near(b[0].Contenders, test.at, 0.02) {
			t.Errorf("%s breaks by %+v, want %s with %v contenders", test.lock.Lock.Name, b, test.first, test.at)
		}
	}
	poll, _ := crowdOf(t, synthetic.Polling("poll", 100*time.Millisecond), upTo(1000))
	if e, why := poll.At(10_000, 0); !strings.Contains(why, "polls") && !strings.Contains(why, "ask again") {
		t.Errorf("more than can be served: %+v, %q", e, why)
	}
	queue, _ := crowdOf(t, synthetic.Queue("queue"), upTo(1000))
	if _, why := queue.At(1_000_000, 0); !strings.Contains(why, "memory: reached with 373475 contenders") {
		t.Errorf("a million contenders of 46 kB in 16 GiB: %q", why)
	}
	if before := queue.Before(10_000); len(before) != 1 || before[0].Limit.Name != "maxclients" {
		t.Errorf("before 10000 contenders: %+v", before)
	}
}

func TestLimits(t *testing.T) {
	if err := predict.ValidateLimits(predict.Limits); err != nil {
		t.Error(err)
	}
	err := predict.ValidateLimits([]*predict.Limit{predict.Limits[0], predict.Limits[0], {}})
	for _, want := range []string{"listed twice", "has no name", "undocumented", "no remedy", "no function"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

func TestCrowdOfDamage(t *testing.T) {
	huge := time.Duration(math.MaxInt64)
	for i, edit := range []func(r *harness.Result){
		func(r *harness.Result) { r.Elapsed = huge },
		func(r *harness.Result) { r.Elapsed = -1 },
		func(r *harness.Result) { r.Handovers = math.MaxUint64 },
		func(r *harness.Result) { r.Wire, r.Servers, r.CPU = nil, nil, harness.CPU{} },
		func(r *harness.Result) { r.Servers.CPU = &huge },
		func(r *harness.Result) { r.Wire.Requests = math.MaxUint64 },
		func(r *harness.Result) { r.RoundTrip = math.NaN() },
		func(r *harness.Result) { r.Workload.Workers = 0 },
	} {
		for _, lock := range []synthetic.Crowd{synthetic.Queue("queue"), synthetic.Herd("herd"), synthetic.Polling("poll", time.Second)} {
			c, why := crowdOf(t, lock, upTo(1000), edit)
			c.Breaches()
			if why != "" {
				continue
			}
			for _, trip := range []float64{0, 50e6} {
				if e, why := c.At(100_000, trip); why == "" && !(e.Rate.Value > 0 && e.Rate.Value < 1e12 && e.Wait.Value >= 0 && e.Wait.Value < 1e21) {
					t.Errorf("damage %d of %s: %+v", i, lock.Lock.Name, e)
				}
			}
		}
	}
}
