// Package synthetic makes up runs, for tests of what is concluded and drawn from a
// run. No figure of it is ever published.
//
// Rank 4. Only tests import it.
package synthetic
