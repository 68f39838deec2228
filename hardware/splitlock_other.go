//go:build !(amd64 && gc && !purego)

package hardware

import (
	"fmt"
	"runtime"
)

var splitAccesses []splitAccess

var unaligned = map[string]string{
	"386":     "this is written for amd64",
	"amd64":   "it needs assembly, which this build has not (gc, without the tag purego)",
	"arm64":   "arm64 faults on an exclusive or atomic access that leaves its 16 bytes (Arm ARM, FEAT_LSE2)",
	"loong64": "loong64 faults on an atomic access that is not aligned (LoongArch Reference Manual vol. 1, AM and LL/SC)",
	"ppc64":   "POWER interrupts a load-and-reserve that is not aligned (Power ISA, Book II, lwarx and ldarx)",
	"ppc64le": "POWER interrupts a load-and-reserve that is not aligned (Power ISA, Book II, lwarx and ldarx)",
	"riscv64": "RISC-V faults on LR, SC and AMO that are not aligned (Unprivileged ISA, extension A)",
	"s390x":   "s390x refuses COMPARE AND SWAP that is not aligned with a specification exception (Principles of Operation)",
}

func splitLockAssembly() error {
	why := unaligned[runtime.GOARCH]
	if why == "" {
		why = "this is written for amd64, and " + runtime.GOARCH + " is not known to have one"
	}
	return fmt.Errorf("hardware: no split lock here: %s", why)
}
