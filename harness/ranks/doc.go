// Package ranks is where the processes of one run meet: its ranks, perhaps on several
// hosts, each of which knows its number, how many there are, and a server that all of
// them reach. They find each other, begin together, know each other's clocks, and notice
// when one is gone.
//
//	g, err := ranks.Join(ctx, ranks.Options{Rank: 1, Ranks: 3, Sync: "redis://10.0.0.7:6379"}, self)
//	...
//	defer func() { g.Leave(context.WithoutCancel(ctx), why) }()
//	plan, err := g.Share(ctx, "plan", mine)  // all get that of rank 0
//	at, err := g.Start(ctx, "case 1")        // all begin then
//
// # No leader
//
// Each rank posts its part at the server once and reads what all posted, so all compute
// the same from the same. A rank claims its number there, exclusively, for a few seconds,
// and renews that once a second; when the claim ends by itself the rank is gone: killed,
// stopped or cut off, which nothing tells apart. It is the server that judges it, so a
// rank that is slow to look does not accuse another.
//
// # At the server
//
// The server is Redis. Keys begin with locklab:ranks:JOB:, which no measured lock uses. All
// of them expire, a minute after the last rank at the latest. What is posted is dropped at the next barrier but one. A rank at no barrier makes one
// request a second. At one it polls, every 2 ms at first and every 50 ms in the end:
// nothing is measured while ranks wait there.
//
// # Clocks
//
// See [Clock] and [Group.Start].
//
// Rank 2. It imports harness, internal/machine and internal/wire/redis with go-redis, and knows nothing of plans, locks or results.
package ranks
