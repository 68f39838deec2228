// Package chaos does to locks what happens to them in production, and sees what
// becomes of them.
//
// Rank 5. It must not import a lock or a chart.
package chaos
