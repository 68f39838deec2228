// Package peers drives unmodified locks of other authors, for comparison. Each file adapts one
// to the contract of package harness and documents the additions of the adapter. Peers in other
// languages run in a child process, with the protocol of docs/external-peers.md.
//
// Rank 2. It imports harness, harness/oracle, internal/backend, lock, internal/wire/…,
// internal/zksession and the libraries it compares, and must never import another family, a
// runner or a report.
package peers
