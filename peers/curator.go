package peers

import (
	"context"
	"time"

	"locklab/harness"
)

// The locks of Apache Curator, the ZooKeeper library of the Java world, run unmodified in a Java
// process: docs/external-peers.md describes its control. A Remote is one CuratorFramework, hence
// one session, and each of its workers a Java thread, since Curator's owners are threads.
//
// # Additions of the adapter
//
//   - Two messages over loopback per acquisition and two per release if the workers are
//     goroutines: in the conformance suite, and in a benchmark of package testing. A measurement
//     of the lab has Java threads as workers and no messages, see [harness.Variant].
//   - A context: a Lock that gives up interrupts its thread. Curator then removes the ticket,
//     sometimes in the background a moment later.
//   - A loss signal: Done closes at ConnectionState.LOST, when Curator finds or must assume that
//     the session has expired.
//
// # Unchanged behaviour
//
// There is no fencing token. A node that is removed by hand is not noticed: Unlock returns nil.
// The parents are container nodes, which the server removes when they are empty, so tickets may
// count from 0 again.
//
// # References
//
// Apache Curator 5.4.0, org.apache.curator.framework.recipes.locks: InterProcessMutex,
// InterProcessSemaphoreMutex, InterProcessReadWriteLock, LockInternals. Debian 12 has version
// 5.4.0; another one on the class path of LOCKLAB_CURATOR is measured under the same names.
var (
	curatorMutex = newCurator("curator-mutex",
		"InterProcessMutex of Apache Curator, an object for each worker, in a Java process",
		"Apache Curator 5.4.0, InterProcessMutex",
		harness.Traits{FIFO: true, Reentrant: true}, curatorRecipe{name: "mutex"})

	// Every watch wakes all waiters in one object, and each lists the queue again in turn.
	curatorMutexShared = newCurator("curator-mutex-shared",
		"InterProcessMutex of Apache Curator, one object shared by the threads of a client",
		"Apache Curator 5.4.0, InterProcessMutex",
		harness.Traits{FIFO: true, Reentrant: true}, curatorRecipe{name: "mutex", mode: "instance"})

	// A mutex around a list of leases: nine requests and four writes.
	//
	// The last write removes the ticket of the mutex. A thread that is interrupted meanwhile
	// throws without the lease that it has just got: the node stays, and holds the lock, until
	// the session ends. (InterProcessSemaphoreV2.internalAcquire1Lease: lock.release() in the
	// outer finally comes before builder.add. CURATOR-462, fixed in 5.4.0, is the same during
	// the wait. We know of no report of this one.) TestCuratorInterrupted shows it. The adapter
	// cannot avoid it, because only an interrupt ends a wait that keeps its place. Only a
	// workload with a deadline gives up waits, so the lock is measured unmodified, and marked.
	curatorSemaphoreMutex = newCurator("curator-semaphore-mutex",
		"InterProcessSemaphoreMutex of Apache Curator, which any thread may release; a wait given up at its end may leave it locked",
		"Apache Curator 5.4.0, InterProcessSemaphoreMutex",
		harness.Traits{FIFO: true}, curatorRecipe{name: "semaphore", mayStick: map[string]string{"cancel": leaseStays, "cancel-many": leaseStays}})

	// A reader waits for the first writer in the queue, not for the nearest, so readers behind
	// several writers wake several times. Up to version 5.4.0 an owner that writes and also
	// reads loses exclusion when it unlocks its write: its read ticket is younger than a waiting
	// writer's, which then gets in (CURATOR-621).
	curatorRW = newCurator("curator-rw",
		"InterProcessReadWriteLock of Apache Curator; up to 5.4.0 two hold it if a writer reads on (CURATOR-621)",
		"Apache Curator 5.4.0, InterProcessReadWriteLock",
		harness.Traits{FIFO: true, Reentrant: true, ReadWrite: true}, curatorRecipe{name: "rw", readWrite: true})
)

// curatorJava is the one Java process of all clients: a JVM takes seconds to start and 100 MB.
var curatorJava = newJavaPeer(5*time.Second, 30*time.Second, time.Second)

// curatorUnavailable is the reason why Curator cannot run here, "" if it can.
var curatorUnavailable = whyNoCurator()

type curatorRecipe struct {
	name      string // of the protocol
	mode      string // of clients: "instance" is one object for all workers; "" is "object", see cellMode
	readWrite bool
	mayStick  map[string]string
}

const leaseStays = "an interrupt in the last step of an acquisition leaves the lease node behind"

func newCurator(name, doc, paper string, traits harness.Traits, recipe curatorRecipe) *harness.Variant {
	v := newPeer(name, doc, paper, harness.KindZooKeeper, traits, func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		return newCuratorClient(ctx, curatorJava, recipe, at, key)
	})
	v.Unavailable, v.MayStick = curatorUnavailable, recipe.mayStick
	// The servers count its requests, with pings, the readings (less than 1 %), and other
	// clients of a user's server.
	v.Loop = func(ctx context.Context, at harness.Endpoint, key string, w harness.Workload) (*harness.LoopLog, error) {
		return measureCurator(ctx, curatorJava, at, key, recipe, w, func() (harness.Counts, error) { return served(ctx, at) })
	}
	return v
}
