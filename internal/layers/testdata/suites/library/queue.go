package library

// Queue is a lock that Craig wrote about in 1993.
type Queue struct{}

// QueueWorker is a handle and no lock of its own.
type QueueWorker struct{}

func NewQueue(workers int) *Queue { return nil }

func (*Queue) Worker(i int) *QueueWorker { return nil }
func (*QueueWorker) Lock()               {}
func (*QueueWorker) Unlock()             {}
