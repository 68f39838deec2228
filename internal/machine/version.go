package machine

import "runtime/debug"

// commit is set by the linker in builds without version control, such as
// release archives:
//
//	go build -ldflags "-X locklab/internal/machine.commit=abc123"
var commit string

// BuildCommit returns the revision this program was built from, with "+dirty"
// if the source had been changed, as the go command recorded it; else the one
// given to the linker; else "". Test binaries have neither by default.
func BuildCommit() string {
	info, _ := debug.ReadBuildInfo()
	return buildCommit(info, commit)
}

// Modules returns the version of every module this program was built with, by
// path. The version is that of the replacement if the module was replaced. Test
// binaries do not know any.
func Modules() map[string]string {
	info, _ := debug.ReadBuildInfo()
	return modules(info)
}

func buildCommit(info *debug.BuildInfo, linked string) string {
	if info == nil {
		return linked
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
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
	if info == nil {
		return versions
	}
	for _, m := range info.Deps {
		version := m.Version
		if m.Replace != nil {
			version = m.Replace.Version
		}
		versions[m.Path] = version
	}
	return versions
}
