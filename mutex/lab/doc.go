// Package lab adapts package mutex to the lab: [Suite], a [harness.Variant] for every
// lock, and adapters that turn a [harness.Setup] into mutex.Options.
//
// It also has the locks that are not for programs, one file each: locks of others for
// comparison (sync-mutex, sync-rwmutex, semaphore, xsync-rbmutex); empty, which measures the cost of the
// harness itself; and locks that are broken on purpose, which every checker must reject.
package lab
