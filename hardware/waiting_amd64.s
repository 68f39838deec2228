//go:build gc && !purego

#include "textflag.h"

#define word	DI // address of the word
#define same	SI // waits continue while the word has this value
#define waits	R8 // waits left
#define seen	R9 // the last loaded value
#define ticks	R10 // maximum length of a wait, in ticks of the TSC
#define state	CX // UMWAIT and TPAUSE: 1 for C0.1, 0 for C0.2

// The assembler supports none of these.
#define UMONITOR_RDI	BYTE $0xf3; BYTE $0x0f; BYTE $0xae; BYTE $0xf7 // UMONITOR RDI
#define UMWAIT_ECX	BYTE $0xf2; BYTE $0x0f; BYTE $0xae; BYTE $0xf1 // until the TSC is EDX:EAX
#define TPAUSE_ECX	BYTE $0x66; BYTE $0x0f; BYTE $0xae; BYTE $0xf1 // until the TSC is EDX:EAX
#define MONITORX	BYTE $0x0f; BYTE $0x01; BYTE $0xfa // the line of RAX; hints ECX, EDX
#define MWAITX	BYTE $0x0f; BYTE $0x01; BYTE $0xfb // hints EAX, options ECX, ticks EBX

// DEADLINE puts the TSC and ticks into EDX:EAX.
#define DEADLINE \
	RDTSC \
	SHLQ $32, DX \
	ORQ  DX, AX \
	ADDQ ticks, AX \
	MOVQ AX, DX \
	SHRQ $32, DX

// func cpuid(leaf, sub uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB), NOSPLIT|NOFRAME, $0-24
	MOVL leaf+0(FP), AX
	MOVL sub+4(FP), CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	MOVL DX, d+20(FP)
	RET

// func umwait(p *atomics.Uint64, v, n, most, light uint64) (last uint64)
//
//	do {
//		monitor p
//		if (last = *p) != v { break }
//		wait for a store to the line, or most ticks
//	} while --n != 0
//	return last = *p
TEXT ·umwait(SB), NOSPLIT|NOFRAME, $0-48
	MOVQ p+0(FP), word
	MOVQ v+8(FP), same
	MOVQ n+16(FP), waits
	MOVQ most+24(FP), ticks
	MOVQ light+32(FP), state

again:
	UMONITOR_RDI
	MOVQ 0(word), seen
	CMPQ seen, same
	JNE  done
	DEADLINE
	UMWAIT_ECX
	DECQ waits
	JNZ  again
	MOVQ 0(word), seen

done:
	MOVQ seen, last+40(FP)
	RET

// func tpause(p *atomics.Uint64, v, n, most, light uint64) (last uint64)
//
//	do { if (last = *p) != v { break }; wait for most ticks } while --n != 0
//	return last = *p
TEXT ·tpause(SB), NOSPLIT|NOFRAME, $0-48
	MOVQ p+0(FP), word
	MOVQ v+8(FP), same
	MOVQ n+16(FP), waits
	MOVQ most+24(FP), ticks
	MOVQ light+32(FP), state

again:
	MOVQ 0(word), seen
	CMPQ seen, same
	JNE  done
	DEADLINE
	TPAUSE_ECX
	DECQ waits
	JNZ  again
	MOVQ 0(word), seen

done:
	MOVQ seen, last+40(FP)
	RET

// func mwaitx(p *atomics.Uint64, v, n, most uint64) (last uint64)
//
//	as umwait; most is below 1<<32, and 0xf0 asks for no power-saving state
TEXT ·mwaitx(SB), NOSPLIT|NOFRAME, $0-40
	MOVQ p+0(FP), word
	MOVQ v+8(FP), same
	MOVQ n+16(FP), waits
	MOVQ most+24(FP), ticks

again:
	MOVQ word, AX
	XORL CX, CX
	XORL DX, DX
	MONITORX
	MOVQ 0(word), seen
	CMPQ seen, same
	JNE  done
	MOVL $0xf0, AX
	MOVL $2, CX // EBX is the maximum time
	MOVL ticks, BX
	MWAITX
	DECQ waits
	JNZ  again
	MOVQ 0(word), seen

done:
	MOVQ seen, last+32(FP)
	RET
