package qemu

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

func TestProgramRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	if runtime.GOARCH == "arm64" {
		t.Log("this is " + runtime.GOOS + "/" + runtime.GOARCH)
		return
	}
	qemu := Find(t, "aarch64")
	out, err := exec.CommandContext(t.Context(), qemu, TestBinary(t, "arm64"), "-test.v", "-test.run=^TestProgramRuns$").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "this is linux/arm64") {
		t.Errorf("%v\n%s", err, out)
	}
}
