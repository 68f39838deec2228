package machine

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// commit is set by the linker in builds without version control, such as release archives:
//
//	go build -ldflags "-X locklab/internal/machine.commit=abc123"
var commit string

// BuildCommit returns the revision by the go command, with "+dirty" if changed, else by the
// linker, or "". Test binaries have neither by default.
func BuildCommit() string {
	info, _ := debug.ReadBuildInfo()
	return buildCommit(info, commit)
}

// Modules returns the version of every module in this program, by path. For a replaced module this
// is the version of the replacement. Test binaries have no versions.
func Modules() map[string]string {
	info, _ := debug.ReadBuildInfo()
	return modules(info)
}

func buildCommit(info *debug.BuildInfo, linked string) string {
	revision, dirty := "", ""
	for _, s := range cmp.Or(info, new(debug.BuildInfo)).Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+dirty"
			}
		}
	}
	if revision == "" {
		return linked
	}
	return revision + dirty
}

func modules(info *debug.BuildInfo) map[string]string {
	versions := make(map[string]string)
	for _, m := range cmp.Or(info, new(debug.BuildInfo)).Deps {
		version := m.Version
		if m.Replace != nil {
			version = m.Replace.Version
		}
		versions[m.Path] = version
	}
	return versions
}

// BinaryHash returns the SHA-256 of the running program in hexadecimal, or "", in some 0.1 s.
func BinaryHash() string {
	name, err := Executable()
	if err != nil {
		return ""
	}
	program, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(program))
}

// Executable returns a name that starts the running program again. On Linux this is the same
// program even if its file was replaced or removed, as by a build during a long run.
func Executable() (string, error) {
	const self = "/proc/self/exe"
	if runtime.GOOS == "linux" {
		if _, err := os.Stat(self); err == nil {
			return self, nil
		}
	}
	return os.Executable()
}
