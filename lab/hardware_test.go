package lab

import (
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func TestHardwareEvidence(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skipf("what it must show is known for amd64 and arm64, this is %s", runtime.GOARCH)
	}
	stdout, stderr, status := output(t, locklab(t, "hardware", "evidence"))
	if status != 0 || stderr != "" {
		t.Fatalf("exit status %d, said %q", status, stderr)
	}
	want := map[string]string{
		"amd64": `(?m)^-> [0-9a-f]{4}  [0-9a-f]+ +LOCK CMPXCHGL `,
		"arm64": `(?m)^-> [0-9a-f]{4}  [0-9a-f]+ +CASALW `,
	}[runtime.GOARCH]
	if !regexp.MustCompile(want).MatchString(stdout) {
		t.Errorf("no line matches %s:\n%s", want, stdout)
	}
}

func TestHardwareHelp(t *testing.T) {
	stdout, stderr, status := output(t, locklab(t, "hardware", "--help"))
	if status != 0 || stderr != "" || !strings.Contains(stdout, "evidence") {
		t.Errorf("exit status %d, said %q, printed:\n%s", status, stderr, stdout)
	}
}

func TestHardwareUsageErrors(t *testing.T) {
	for _, args := range []string{"hardware nosuch", "hardware evidence nosuch"} {
		stdout, stderr, status := output(t, locklab(t, strings.Fields(args)...))
		if status != exitUsage {
			t.Errorf("%s: exit status %d, want %d", args, status, exitUsage)
		}
		if stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "locklab: ") || !strings.Contains(stderr, `"nosuch"`) {
			t.Errorf("%s: printed %q, said %q, want one line that names it", args, stdout, stderr)
		}
	}
}
