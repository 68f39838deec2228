package result

import "locklab/harness"

// ServerCPU is the processor time of the servers per acquisition: of all servers that the
// lock uses together. A lock whose waiters poll the server makes it work for nothing.
//
// Source: clock_getcpuclockid(3) of the server's process; getrusage(2) as reported by
// Redis INFO if the lab did not start the server.
var ServerCPU = &Metric{
	Name:   "server-cpu",
	Unit:   "server-cpu-ns/op",
	Doc:    "processor time of the servers per acquisition",
	Paper:  "clock_getcpuclockid(3); Redis INFO",
	Better: Lower,
	Of: func(r *harness.Result) (float64, bool) {
		if r.Servers == nil || r.Servers.CPU == nil {
			return 0, false
		}
		return per(float64(r.Servers.CPU.Nanoseconds()), r.Ops)
	},
}

// ServerMemory is the growth of the memory of the servers since before the lock had a
// client, per worker: for the connections, the lock and its queue.
//
// Source: used_memory of Redis INFO. ZooKeeper reports only the size of its heap, which
// is mostly garbage at any moment.
var ServerMemory = &Metric{
	Name:   "server-memory",
	Unit:   "server-bytes/worker",
	Doc:    "growth of the memory of the servers per worker, for its connections and its place in the lock",
	Paper:  "Redis INFO, used_memory",
	Better: Lower,
	Of: func(r *harness.Result) (float64, bool) {
		if r.Servers == nil || r.Servers.Memory == nil {
			return 0, false
		}
		return per(float64(*r.Servers.Memory), uint64(len(r.Workers)))
	},
}

// Connections is the number of connections to the servers per worker while all contend.
//
// Source: connected_clients of Redis INFO; Connections of ZooKeeper's srvr.
var Connections = &Metric{
	Name:   "connections",
	Unit:   "conns/worker",
	Doc:    "connections to the servers per worker while all contend",
	Paper:  "Redis INFO, connected_clients; ZooKeeper srvr",
	Better: Lower,
	Of: func(r *harness.Result) (float64, bool) {
		if r.Servers == nil || r.Servers.Connections == nil {
			return 0, false
		}
		return per(float64(*r.Servers.Connections), uint64(len(r.Workers)))
	},
}
