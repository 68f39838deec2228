// Package peers drives locks that others wrote, unmodified, for
// comparison. Each file adapts one to the contract of package harness and says
// what the adapter adds.
//
// Peers in other languages run in a child process, by the protocol of
// docs/external-peers.md.
//
// Rank 2. It imports harness, harness/oracle, internal/backend, internal/lease,
// internal/wire/…, internal/zksession and the libraries it compares, and must never import another
// family, a runner or a report.
package peers
