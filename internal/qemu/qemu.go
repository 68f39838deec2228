package qemu

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Find returns the path of the emulator of an architecture, in qemu's naming. Without
// one, or on a host other than linux/amd64, it skips the test, or fails it if
// LOCKLAB_REQUIRE names qemu.
func Find(t *testing.T, arch string) (path string) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skipf("needs a linux/amd64 host, this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	for _, name := range []string{"qemu-" + arch + "-static", "qemu-" + arch} { // some systems omit "-static"
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	reason := "qemu-" + arch + "-static not on PATH: apt-get install qemu-user-static"
	if slices.Contains(strings.Split(os.Getenv("LOCKLAB_REQUIRE"), ","), "qemu") {
		t.Fatal(reason)
	}
	t.Skip(reason)
	return ""
}

// TestBinary builds the tests of the package in the working directory for goarch, on
// Linux. It returns the path of the program, which is removed with the test. It omits go
// vet, which make lint runs on every architecture, and debug information.
func TestBinary(t *testing.T, goarch string) (path string) {
	t.Helper()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skipf("go not on PATH: %v", err)
	}
	path = filepath.Join(t.TempDir(), "qemu.test")
	cmd := exec.CommandContext(t.Context(), tool, "test", "-c", "-vet=off", "-ldflags=-w", "-o", path, ".")
	// Flags of this test run are not for the inner command. make test has compiled its
	// packages without paths.
	cmd.Env = append(cmd.Environ(), "GOFLAGS=-trimpath", "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+goarch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}
