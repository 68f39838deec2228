package machine

import (
	"maps"
	"runtime/debug"
	"testing"
)

func TestBuildCommit(t *testing.T) {
	settings := func(kv ...string) *debug.BuildInfo {
		info := new(debug.BuildInfo)
		for i := 0; i < len(kv); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: kv[i], Value: kv[i+1]})
		}
		return info
	}
	for _, tc := range []struct {
		info         *debug.BuildInfo
		linked, want string
	}{
		{nil, "", ""},
		{nil, "abc", "abc"},
		{settings("vcs", "git"), "abc", "abc"},
		{settings("vcs.modified", "true"), "", ""},
		{settings("vcs.revision", "f00", "vcs.modified", "false"), "abc", "f00"},
		{settings("vcs.revision", "f00", "vcs.modified", "true"), "", "f00+dirty"},
	} {
		if got := buildCommit(tc.info, tc.linked); got != tc.want {
			t.Errorf("buildCommit(%v, %q) = %q, want %q", tc.info, tc.linked, got, tc.want)
		}
	}
}

func TestModules(t *testing.T) {
	info := &debug.BuildInfo{Deps: []*debug.Module{
		{Path: "a.example/a", Version: "v1.2.3"},
		{Path: "b.example/b", Version: "v1.0.0", Replace: &debug.Module{Path: "c.example/c", Version: "v2.0.0"}},
	}}
	want := map[string]string{"a.example/a": "v1.2.3", "b.example/b": "v2.0.0"}
	if got := modules(info); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := modules(nil); got == nil || len(got) > 0 {
		t.Errorf("without build information: %v", got)
	}
}
