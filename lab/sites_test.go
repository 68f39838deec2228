package lab

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/backend"
	"locklab/internal/leaktest"
	"locklab/internal/machine"
	"locklab/internal/site"
	wireredis "locklab/internal/wire/redis"
)

func planOf(t *testing.T, o runOptions) *measure.Plan {
	t.Helper()
	o.duration, o.warmup, o.rounds = 200*time.Millisecond, 10*time.Millisecond, 1
	p := requirePlan(t, o)
	return p
}

// TestConditions measures a lock on durable servers a millisecond away, one alone and one
// with replicas. The servers and the results must have these conditions.
func TestConditions(t *testing.T) {
	needOwn(t, harness.KindRedis)
	if s, _, err := site.Start(t.Context(), planOf(t, optionsOf(t, "--locks=redis-queue --workers=1")), 0, io.Discard); err != nil {
		t.Fatal(err) // the helper that starts processes stays, so it must precede leaktest
	} else {
		s.Stop()
	}
	leaktest.All(t)
	const delay = time.Millisecond
	p := planOf(t, optionsOf(t, "--locks=redis-queue,redis-redlock --workers=2 --servers=1,3 --durable=on --delay=0,1ms"))
	s, skipped, err := site.Start(t.Context(), p, 0, io.Discard)
	if err != nil || len(skipped) > 0 {
		t.Fatal(err, skipped)
	}
	defer s.Stop()
	if len(p.Cases) != 8 || len(p.Endpoints) != 4 || len(s.Running) != 2 || len(s.Sites) != 4 {
		t.Errorf("%d cases, %d endpoints, %d sets of servers, %d accounts", len(p.Cases), len(p.Endpoints), len(s.Running), len(s.Sites))
	}
	for site, srv := range s.Running {
		wantSetup(t, site, srv.Endpoint())
	}
	for _, a := range s.Sites {
		if a.Direct <= 0 || a.SyncTime <= 0 || (a.Delay > 0) != (a.Delayed >= float64(delay) && a.Proxied > 0) {
			t.Errorf("took down %+v", a)
		}
	}
	seen := make(map[string]int)
	err = p.Run(t.Context(), func(at measure.Progress) error {
		r := at.Result
		if r == nil {
			return at.Lost
		}
		seen[at.Case.Name()]++
		served := r.Ops > 0 || at.Case.Lock.Name == "redis-redlock" // its waiters may poll without success for that long
		if r.Workload != at.Case.Workload || !served || len(r.Violations) > 0 {
			t.Errorf("%s: %+v, %d acquisitions, %v", at.Case.Name(), r.Workload, r.Ops, r.Violations)
		}
		if least := float64(r.Workload.Delay); r.RoundTrip < least {
			t.Errorf("%s: a round trip took %v ns, less than %v", at.Case.Name(), r.RoundTrip, least)
		}
		return nil
	})
	if err != nil || len(seen) != 8 || seen["lock=redis-queue/workers=2/servers=3/durable=on/delay=1ms/hold=0s"] != 1 {
		t.Errorf("%v; measured %v", err, seen)
	}
}

func needOwn(t *testing.T, kind string) {
	t.Helper()
	needServers(t, kind)
	if env := backend.UsersServer(kind); env != "" {
		t.Skipf("%s names servers of the user, which are not set up", env)
	}
}

func wantSetup(t *testing.T, site measure.Site, at harness.Endpoint) {
	t.Helper()
	if want := map[int]int{1: 3, 3: 3}[site.Servers]; len(at.PIDs) != want { // three alone, for Redlock
		t.Errorf("%+v: processes %v, want %d", site, at.PIDs, want)
	}
	for _, list := range at.Addrs {
		one := at
		one.Addrs = [][]string{list}
		c, _, err := wireredis.Connect(one)
		requireNoError(t, err)
		defer c.Close()
		got, err := c.ConfigGet(t.Context(), "appendfsync").Result()
		if err != nil || got["appendfsync"] != "always" {
			t.Errorf("%+v: %v, %v: want appendfsync always", site, got, err)
		}
		info, err := c.Info(t.Context(), "replication").Result()
		if err != nil || strings.Contains(info, "connected_slaves:2") != (site.Servers == 3) {
			t.Errorf("%+v: %v\n%s", site, err, info)
		}
	}
}

// TestConditionsTLS: the measuring process, and its workers in Java, get the certificate to trust.
func TestConditionsTLS(t *testing.T) {
	for kind, flags := range map[string]string{harness.KindRedis: "--locks=redis-queue --delay=1ms", harness.KindZooKeeper: "--locks=zk-handoff,curator-mutex"} {
		t.Run(kind, func(t *testing.T) {
			if kind == harness.KindZooKeeper && testing.Short() {
				t.Skip("make test-all runs it")
			}
			needOwn(t, kind)
			if err := lacksCurator(); kind == harness.KindZooKeeper && err != nil && !backend.Required("java") {
				t.Skip(err)
			}
			p := planOf(t, optionsOf(t, flags+" --workers=2 --tls=on"))
			s, skipped, err := site.Start(t.Context(), p, 0, io.Discard)
			if err != nil && strings.Contains(err.Error(), "built without TLS") && !backend.Required(kind) {
				t.Skip(err)
			}
			if err != nil || len(skipped) > 0 {
				t.Fatal(err, skipped)
			}
			defer s.Stop()
			at := p.Endpoints[p.Cases[0].Site()]
			if trip := measure.RoundTrip(t.Context(), machine.Calibrate(), at); trip < float64(p.Cases[0].Workload.Delay) || trip == 0 {
				t.Errorf("a round trip takes %v ns", trip)
			}
			at.TLS = nil
			if trip := measure.RoundTrip(t.Context(), machine.Calibrate(), at); trip != 0 {
				t.Error("it answers without TLS")
			}
			measured := 0
			err = p.Run(t.Context(), func(at measure.Progress) error {
				if r := at.Result; r != nil && r.Workload.TLS && r.Ops > 0 && r.Wire != nil && len(r.Violations) == 0 &&
					!slices.ContainsFunc(r.Warnings, func(w machine.Warning) bool { return w.Kind == "messages" }) {
					measured++
				}
				return at.Lost
			})
			if err != nil || measured != len(p.Cases) {
				t.Errorf("measured %d of %d cases: %v", measured, len(p.Cases), err)
			}
		})
	}
}

func lacksCurator() error {
	for _, v := range program().Locks {
		if v.Name == "curator-mutex" && v.Unavailable != "" {
			return errors.New(v.Unavailable)
		}
	}
	return nil
}

func TestConditionsAreRefused(t *testing.T) {
	for _, test := range []struct {
		env, at string
		o       runOptions
		want    string
	}{
		{"LOCKLAB_REDIS", "127.0.0.1:1", optionsOf(t, "--locks=redis-queue --delay=0,1ms"), "a delay on a user's server: LOCKLAB_REDIS"},
		{"LOCKLAB_ZOOKEEPER", "127.0.0.1:1", optionsOf(t, "--locks=zk-fair --delay=1ms"), "a delay on a user's server: LOCKLAB_ZOOKEEPER"},
		{"LOCKLAB_REDIS", "127.0.0.1:1", optionsOf(t, "--locks=redis-queue --durable=on"), "another setup of a user's server: LOCKLAB_REDIS"},
		{"LOCKLAB_REDIS", "127.0.0.1:1", optionsOf(t, "--locks=redis-queue --tls=on"), "--servers, --durable and --tls is for servers"},
		{"LOCKLAB_ZOOKEEPER", "127.0.0.1:1", optionsOf(t, "--locks=zk-fair --servers=3"), "another setup of a user's server: LOCKLAB_ZOOKEEPER"},
		{"", "", optionsOf(t, "--locks=zk-fair --servers=1,3,5,7 --durable=off,on --tls=off,on"), "take 64 servers at a time, and a run may have 40"},
		{"", "", optionsOf(t, "--locks=redis-redlock --servers=5"), "it uses 3 independent servers, not 5"},
	} {
		t.Run(test.want, func(t *testing.T) {
			for _, env := range []string{"LOCKLAB_REDIS", "LOCKLAB_ZOOKEEPER"} {
				t.Setenv(env, "")
			}
			if test.env != "" {
				t.Setenv(test.env, test.at)
			}
			s, _, err := site.Start(t.Context(), planOf(t, test.o), 0, io.Discard)
			s.Stop()
			if !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want ErrUsage in one line with %q", err, test.want)
			}
		})
	}
}

// TestSkipConditions: a lock is skipped if it does not fit, and again in a resumed run.
func TestSkipConditions(t *testing.T) {
	o := optionsOf(t, "--locks=redis-queue,redis-redlock --workers=2 --servers=1,3,5")
	p := planOf(t, o)
	skipped := site.Drop(p, func(c measure.Case) string { return c.Lock.Traits.Misfit(c.Workload) })
	want := []result.Skip{{Lock: "redis-redlock", Reason: "it uses 3 independent servers, not 5", Conditions: "servers=5"}}
	if !slices.Equal(skipped, want) || len(p.Cases) != 5 {
		t.Errorf("skipped %+v, and %d cases are left", skipped, len(p.Cases))
	}
	o.program = program()
	again, err := o.planAgain(result.Manifest{Rounds: 1, Window: time.Millisecond, Skipped: skipped})
	if err != nil || len(again.Cases) != 5 {
		t.Errorf("planned again: %v, %+v", err, again)
	}
	all := site.Drop(p, func(c measure.Case) string { return map[string]string{"redis-redlock": "no"}[c.Lock.Name] })
	if !slices.Equal(all, []result.Skip{{Lock: "redis-redlock", Reason: "no"}}) {
		t.Errorf("skipped %+v", all)
	}
}
