package lab

import (
	"regexp"
	"runtime"
	"testing"
)

func TestHardwareEvidence(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skipf("what it must show is known for amd64 and arm64, this is %s", runtime.GOARCH)
	}
	stdout, _ := requireSuccess(t, locklab(t, "hardware", "evidence"))
	want := map[string]string{
		"amd64": `(?m)^-> [0-9a-f]{4}  [0-9a-f]+ +LOCK CMPXCHGL `,
		"arm64": `(?m)^-> [0-9a-f]{4}  [0-9a-f]+ +CASALW `,
	}[runtime.GOARCH]
	if !regexp.MustCompile(want).MatchString(stdout) {
		t.Errorf("no line matches %s:\n%s", want, stdout)
	}
}
