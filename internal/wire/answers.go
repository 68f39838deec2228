package wire

// TemporaryErrors are how the errors of Redis and Valkey begin that end without a change of the
// request. They may be preceded by "ERR ".
var TemporaryErrors = []string{
	// The server reads its data from disk, runs another script, lacks memory until keys expire,
	// cannot write to its disk, or has too many connections.
	"LOADING", "BUSY ", "OOM", "MISCONF", "max number of clients",
	// Another server answers, or the scripts were flushed.
	"NOSCRIPT",
	// Too few replicas follow. A replica has lost its primary, or does not replicate yet. The
	// server became a replica during a blocking pop, or cannot reach another server.
	"NOREPLICAS", "MASTERDOWN", "NOMASTERLINK", "UNBLOCKED", "IOERR",
	// No node of the cluster serves the slot, or it is moving and some of the keys have moved.
	"CLUSTERDOWN", "TRYAGAIN",
	// Sentinel finds no replica to promote, or promotes one.
	"NOGOODSLAVE", "INPROG",
}
