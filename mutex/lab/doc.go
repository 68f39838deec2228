// Package lab is package mutex as the lab sees it: [Suite], a [harness.Variant]
// for every lock, and adapters that turn a [harness.Setup] into mutex.Options.
//
// It also has what is not for programs, one file each: the locks of others that
// ours are compared with (sync-mutex, sync-rwmutex, semaphore); empty, which tells
// what the harness itself costs; and locks that are broken on purpose, which every
// checker must reject.
//
// Rank 3. It imports mutex, harness and atomics, and must never
// import anything that runs, tests or measures a lock.
package lab
