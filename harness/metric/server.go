package metric

import "locklab/harness"

// ServerCPU is the processor time of the servers per acquisition: of all servers that
// the lock uses together. A lock whose waiters ask again and again makes the server
// work while nothing comes of it.
//
// Source: clock_getcpuclockid(3) of the server's process; getrusage(2) as INFO of Redis
// tells it where the lab did not start the server.
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

// ServerMemory is by how much the memory of the servers has grown since before the lock
// had a client, per worker: what it keeps for the connections, the lock and its queue.
//
// Source: used_memory of Redis INFO. ZooKeeper tells only the size of its heap, of which
// most is garbage at any moment.
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

// Connections is how many connections to the servers a worker needs while all contend.
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
