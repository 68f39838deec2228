package backend

import (
	"encoding/binary"
	"hash/adler32"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// writeSnapshot writes a ZooKeeper snapshot, for a server that starts in dir, with the nodes of
// counters and their parents, open to all clients; each value is the number of the next child.
//
// The format is org.apache.zookeeper.server.persistence.FileSnap, 3.4 and later: a header, no
// sessions, no ACLs, the nodes, a checksum.
func writeSnapshot(dir string, counters map[string]int32) error {
	be := binary.BigEndian
	b := []byte("ZKSN")
	b = be.AppendUint32(b, 2)           // version
	b = be.AppendUint64(b, 1<<64-1)     // database
	b = append(b, make([]byte, 4+4)...) // sessions, ACLs
	text := func(s string) { b = append(be.AppendUint32(b, uint32(len(s))), s...) }
	for _, node := range []string{"", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"} {
		counters = maps.Clone(counters)
		counters[node] = 0
	}
	for _, node := range slices.Sorted(maps.Keys(counters)) { // parents first
		text(node)
		text("")                        // data
		b = be.AppendUint64(b, 1<<64-1) // ACL: open to all
		b = append(b, make([]byte, 4*8+4)...)
		b = be.AppendUint32(b, uint32(counters[node]))
		b = append(b, make([]byte, 4+8+8)...)
	}
	text("/")
	b = be.AppendUint64(b, uint64(adler32.Checksum(b)))
	text("/")
	dir = filepath.Join(dir, "version-2")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "snapshot.1"), b, 0o600)
}
