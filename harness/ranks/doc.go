// Package ranks is the meeting point of the processes of one run, its ranks, perhaps on
// several hosts. Each has its number, the number of ranks, and a server that all of them
// reach. They find each other, begin together, learn each other's clocks, and notice when
// one is gone.
//
//	g, err := ranks.Join(ctx, ranks.Options{Rank: 1, Ranks: 3, Sync: "redis://10.0.0.7:6379"}, self)
//	...
//	defer func() { g.Leave(context.WithoutCancel(ctx), why) }()
//	plan, err := g.Share(ctx, "plan", mine)  // all get rank 0's plan
//	at, err := g.Start(ctx, "case 1")        // all begin then
//
// # No leader
//
// Each rank posts its part at the server once and reads all parts, so all compute the
// same from the same data. A rank claims its number there, exclusively, for a few
// seconds, and renews that once a second. When the claim expires the rank is gone:
// killed, stopped or cut off, which cannot be distinguished. The server decides that, so
// a slow rank does not accuse another.
//
// # At the server
//
// The server is Redis. Keys begin with locklab:ranks:JOB:, which no measured lock uses. All
// of them expire, at the latest a minute after the last rank. Posts are dropped two barriers
// later. A rank outside a barrier makes one request a second. Inside it polls, every 2 ms at
// first and every 50 ms in the end: nothing is measured while ranks wait there.
//
// # Clocks
//
// See [Clock] and [Group.Start].
//
// Rank 2. It imports harness, internal/machine and internal/wire/redis with go-redis. It does
// not depend on plans, locks or results.
package ranks
