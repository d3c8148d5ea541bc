//go:build !race

#include "textflag.h"

// Both routines do thirty-two addresses a turn, which is 8 % faster over few flows
// than sixteen. The last turn ends with the last address and may look up again
// what the turn before has done; so n is at least 32. By Go's rules the loads are
// a data race; see entry_amd64.go.

// In the place R9 of the batch stands an extended entry: put the entry of the
// extended group there.
#define resolve \
	MOVWLZX (DI)(R9*2), R10; \
	MOVBLZX (SI)(R9*4), R11; \
	ANDL $0x7fff, R10; \
	SHLL $8, R10; \
	ORL R11, R10; \
	MOVWLZX (BX)(R10*2), R10; \
	ANDL $0x7fff, R10; \
	MOVW R10, (DI)(R9*2)

// Each constant is spread over the eight elements of a register.
DATA constants<>+0(SB)/4, $0x80008000 // extendedBit of two entries
DATA constants<>+4(SB)/4, $0xffff
DATA constants<>+8(SB)/4, $16
GLOBL constants<>(SB), RODATA|NOPTR, $12

// gather loads, for the eight addresses in DST, the aligned pair of entries that
// holds theirs; pick leaves the one that is meant. So each element is one whole
// load, and none reads past the table. Clearing PAIR first frees the gather of
// the one before.
#define gather(DST, INDEX, PAIR) \
	VPSRLD $9, DST, INDEX; \
	VPXOR PAIR, PAIR, PAIR; \
	VPCMPEQD Y15, Y15, Y15; \
	VPGATHERDD Y15, (AX)(INDEX*4), PAIR

#define pick(DST, PAIR) \
	VPSRLD $4, DST, DST; \
	VPAND Y12, DST, DST; \
	VPSRLVD DST, PAIR, PAIR; \
	VPAND Y13, PAIR, PAIR

// func lookupAVX2(entries *entryArray, extended *extendedArray, dst *uint32, out *uint16, n int)
TEXT ·lookupAVX2(SB), NOSPLIT, $0-40
	MOVQ entries+0(FP), AX
	MOVQ extended+8(FP), BX
	MOVQ dst+16(FP), SI
	MOVQ out+24(FP), DI
	MOVQ n+32(FP), CX
	VPBROADCASTD constants<>+0(SB), Y14
	VPBROADCASTD constants<>+4(SB), Y13
	VPBROADCASTD constants<>+8(SB), Y12
	SUBQ $32, CX // begin of the last turn
	XORQ DX, DX

turn:
	VMOVDQU (SI)(DX*4), Y0
	VMOVDQU 32(SI)(DX*4), Y1
	VMOVDQU 64(SI)(DX*4), Y2
	VMOVDQU 96(SI)(DX*4), Y3
	gather(Y0, Y8, Y4)
	gather(Y1, Y9, Y5)
	gather(Y2, Y10, Y6)
	gather(Y3, Y11, Y7)
	pick(Y0, Y4)
	pick(Y1, Y5)
	pick(Y2, Y6)
	pick(Y3, Y7)
	VPACKUSDW Y5, Y4, Y4
	VPACKUSDW Y7, Y6, Y6
	VPERMQ $0xd8, Y4, Y4 // the pack works by halves
	VPERMQ $0xd8, Y6, Y6
	VMOVDQU Y4, (DI)(DX*2)
	VMOVDQU Y6, 32(DI)(DX*2)
	VPOR Y4, Y6, Y5
	VPTEST Y14, Y5
	JNZ extended

more:
	CMPQ DX, CX
	JGE done
	ADDQ $32, DX
	CMPQ DX, CX
	CMOVQGT CX, DX
	JMP turn

extended: // one by one the entries whose upper byte has the flag
	VPMOVMSKB Y4, R8
	VPMOVMSKB Y6, R9
	SHLQ $32, R9
	ORQ R9, R8
	MOVQ $0xaaaaaaaaaaaaaaaa, R9
	ANDQ R9, R8

one:
	BSFQ R8, R9
	SHRQ $1, R9
	ADDQ DX, R9 // its place in the batch
	resolve
	LEAQ -1(R8), R9
	ANDQ R9, R8
	JNZ one
	JMP more

done:
	VZEROUPPER
	RET

// The even words of two registers.
DATA even<>+0(SB)/8, $0x0006000400020000
DATA even<>+8(SB)/8, $0x000e000c000a0008
DATA even<>+16(SB)/8, $0x0016001400120010
DATA even<>+24(SB)/8, $0x001e001c001a0018
DATA even<>+32(SB)/8, $0x0026002400220020
DATA even<>+40(SB)/8, $0x002e002c002a0028
DATA even<>+48(SB)/8, $0x0036003400320030
DATA even<>+56(SB)/8, $0x003e003c003a0038
GLOBL even<>(SB), RODATA|NOPTR, $64

DATA odd<>+0(SB)/4, $0x100 // the address bit that says which of a pair
GLOBL odd<>(SB), RODATA|NOPTR, $4

// func lookupAVX512(entries *entryArray, extended *extendedArray, dst *uint32, out *uint16, n int)
//
// As lookupAVX2 with half the gathers and fewer steps around them: 8 % faster over
// few flows, not otherwise.
TEXT ·lookupAVX512(SB), NOSPLIT, $0-40
	MOVQ entries+0(FP), AX
	MOVQ extended+8(FP), BX
	MOVQ dst+16(FP), SI
	MOVQ out+24(FP), DI
	MOVQ n+32(FP), CX
	VPBROADCASTD odd<>(SB), Z14
	VMOVDQU64 even<>(SB), Z13
	SUBQ $32, CX // begin of the last turn
	XORQ DX, DX

turn:
	VPSRLD $9, (SI)(DX*4), Z0
	VPSRLD $9, 64(SI)(DX*4), Z1
	VPTESTMD (SI)(DX*4), Z14, K3
	VPTESTMD 64(SI)(DX*4), Z14, K4
	KXNORW K1, K1, K1
	KXNORW K2, K2, K2
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPGATHERDD (AX)(Z0*4), K1, Z4
	VPGATHERDD (AX)(Z1*4), K2, Z5
	VPSRLD $16, Z4, K3, Z4
	VPSRLD $16, Z5, K4, Z5
	VPERMT2W Z5, Z13, Z4
	VMOVDQU64 Z4, (DI)(DX*2)
	VPMOVW2M Z4, K1 // the flags of extended entries
	KMOVD K1, R8
	TESTL R8, R8
	JNZ extended

more:
	CMPQ DX, CX
	JGE done
	ADDQ $32, DX
	CMPQ DX, CX
	CMOVQGT CX, DX
	JMP turn

extended:
	BSFQ R8, R9
	ADDQ DX, R9
	resolve
	LEAQ -1(R8), R9
	ANDQ R9, R8
	JNZ extended
	JMP more

done:
	VZEROUPPER
	RET
