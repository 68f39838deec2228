// Package adapt makes sessions and leases of the lab from the locks of a library that is
// independent of it.
package adapt
