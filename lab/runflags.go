package lab

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"locklab/harness"
)

func (o *runOptions) axisFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.locks, "locks", defaultLocks, "locks, families, statuses or regular expressions; a leading '-' removes matches; default is one lock for each idea, readers-writer locks with 90 % reads")
	f.Var(list(&o.workers, parseCount), "workers", "workers that contend (default 1,2,4 … 8 per processor; distributed 1,2,8,16,64; for the default locks 1, one per processor, 8 per processor; distributed 1,16)")
	f.Var(list(&o.clients, parseCount), "clients", "connections or sessions that the workers of distributed locks share (default one each)")
	f.Var(list(&o.hold, set[harness.Span]), "hold", "time inside the section: 100ns, 100ns-exp, or 100ns*99+50us for 50us once in a hundred (default 100ns; distributed 0)")
	f.Var(list(&o.section, set[harness.Section]), "section", "data that the holder of a local lock changes, in addition to --hold: work (none), lines:N, map, lru, log (default work)")
	f.Var(list(&o.think, set[harness.Span]), "think", "time between release and next request, as --hold (default 0)")
	f.Var(list(&o.wait, parseName(harness.WaitPolicies)), "wait", "how waiters of locks that claim a wait policy wait: adaptive, spin, pause, yield, sched-yield, park (default adaptive)")
	f.Var(list(&o.pin, parseName(harness.Pins)), "pin", "binding of workers: none, thread, cpu (default none)")
	f.Var(list(&o.gomaxprocs, parseCount), "gomaxprocs", "processors the Go scheduler uses (default: its own choice)")
	f.Var(list(&o.reads, parsePercent), "read", "percentage of acquisitions that only read, such as 90 (default 0)")
	f.Var(list(&o.spread, parseCount), "spread", "locks over which the workers spread, each acquisition at random (default 1)")
	f.Var(list(&o.gc, parseSwitch), "gc", "garbage collection in the window: off, on (default off)")
	f.Var(list(&o.servers, parseServers), "servers", "servers of a distributed lock: a ZooKeeper ensemble, a Redis primary with replicas, such as 1,3 (default 1)")
	f.Var(list(&o.durable, parseSwitch), "durable", "whether servers force each write to disk before they answer: off, on, or --durable=off,on (default off)")
	f.Lookup("durable").NoOptDefVal = "on"
	f.Var(list(&o.tls, parseSwitch), "tls", "TLS between clients and servers: off, on, or --tls=off,on (default off)")
	f.Lookup("tls").NoOptDefVal = "on"
	f.Var(list(&o.delay, parseDelay), "delay", "delay added to each round trip to a server: 0,500us,2ms (default 0)")
	o.loading.flags(f)
}

func (o *runOptions) windowFlags(f *pflag.FlagSet) {
	f.Var(span(&o.duration, 0, 1, harness.MaxWindow), "duration", fmt.Sprintf("measured window of a case (default %v; distributed %d times that)", defaultWindow, remoteStretch))
	f.Var(span(&o.warmup, 0, 0, harness.MaxWindow), "warmup", "warm-up before the window (default a tenth of it)")
}

func (o *runOptions) runFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(count(&o.rounds, 0, 1, mostRounds), "rounds", fmt.Sprintf("rounds, each of which measures each case (default %d)", defaultRounds))
	o.windowFlags(f)
	f.BoolVar(&o.quick, "quick", false, "an answer in twenty seconds: by default the local locks whose waiters sleep, with the least and the greatest contention")
	f.Var(span(&o.budget, 0, 1, 7*day), "budget", "choose rounds and windows so that the whole run takes about this long")
	f.Var(seed(&o.seed, 0), "seed", "seed of the order of the cases (default random)")
	f.BoolVar(&o.hardware, "hardware", false, "also run the hardware experiments for the report: ten seconds")
	f.BoolVar(&o.chaos, "chaos", false, "also try the quick failure scenarios on the distributed locks for the report: half a minute; see '"+o.program.Name+" chaos'")
	o.store.flags(f, defaultRunsRoot+"/TIME")
	o.guarantees.flags(cmd)
	o.guarantees.tableFlags(cmd)
}
