//go:build !race

#include "textflag.h"

// Each constant is spread over the eight elements of a register.
DATA constants<>+0(SB)/4, $0x8000 // extendedBit
DATA constants<>+4(SB)/4, $0x7fff // indexMask
DATA constants<>+8(SB)/4, $0xffff
DATA constants<>+12(SB)/4, $0xff
DATA constants<>+16(SB)/4, $16
GLOBL constants<>(SB), RODATA|NOPTR, $20

// func lookupAVX2(entries *entryArray, extended *extendedArray, dst *uint32, out *uint16, n int)
//
// Sixteen addresses a turn, as two gathers of eight. A gather loads 32 bits: an
// aligned pair of entries, of which a shift leaves the one that is meant. So each
// element is one whole load and none reads past the table, at the price of
// gathers that begin at any entry. The last turn ends with the last address and
// may look up again what the turn before has done. n is at least 16.
//
// The test for extended entries, once for sixteen, keeps their gathers out of
// most turns.
TEXT ·lookupAVX2(SB), NOSPLIT, $0-40
	MOVQ entries+0(FP), AX
	MOVQ extended+8(FP), BX
	MOVQ dst+16(FP), SI
	MOVQ out+24(FP), DI
	MOVQ n+32(FP), CX
	VPBROADCASTD constants<>+0(SB), Y15
	VPBROADCASTD constants<>+4(SB), Y14
	VPBROADCASTD constants<>+8(SB), Y13
	VPBROADCASTD constants<>+12(SB), Y12
	VPBROADCASTD constants<>+16(SB), Y11
	SUBQ $16, CX // begin of the last turn
	XORQ DX, DX

turn:
	VMOVDQU (SI)(DX*4), Y0
	VMOVDQU 32(SI)(DX*4), Y1
	VPSRLD $9, Y0, Y2 // pair of entries: slot / 2
	VPSRLD $9, Y1, Y3
	VPCMPEQD Y6, Y6, Y6
	VPCMPEQD Y7, Y7, Y7
	VPXOR Y4, Y4, Y4 // else a gather waits for the one before
	VPXOR Y5, Y5, Y5
	VPGATHERDD Y6, (AX)(Y2*4), Y4
	VPGATHERDD Y7, (AX)(Y3*4), Y5
	VPSRLD $4, Y0, Y2 // shift: slot % 2 * 16
	VPSRLD $4, Y1, Y3
	VPAND Y11, Y2, Y2
	VPAND Y11, Y3, Y3
	VPSRLVD Y2, Y4, Y4
	VPSRLVD Y3, Y5, Y5
	VPAND Y13, Y4, Y4
	VPAND Y13, Y5, Y5
	VPOR Y4, Y5, Y6
	VPTEST Y15, Y6
	JNZ extended

store:
	VPACKUSDW Y5, Y4, Y4
	VPERMQ $0xd8, Y4, Y4 // the pack works by halves
	VMOVDQU Y4, (DI)(DX*2)
	CMPQ DX, CX
	JGE done
	ADDQ $16, DX
	CMPQ DX, CX
	CMOVQGT CX, DX
	JMP turn

extended:
	VPSLLD $16, Y4, Y6 // the flag is now the sign, which selects
	VPSLLD $16, Y5, Y7
	VPAND Y14, Y4, Y2 // pair of entries: (index * 256 + last octet) / 2
	VPAND Y14, Y5, Y3
	VPSLLD $7, Y2, Y2
	VPSLLD $7, Y3, Y3
	VPAND Y12, Y0, Y8
	VPAND Y12, Y1, Y9
	VPSRLD $1, Y8, Y8
	VPSRLD $1, Y9, Y9
	VPOR Y8, Y2, Y2
	VPOR Y9, Y3, Y3
	VPSLLD $4, Y0, Y8 // shift: last octet % 2 * 16, and 0 where not selected
	VPSLLD $4, Y1, Y9
	VPAND Y11, Y8, Y8
	VPAND Y11, Y9, Y9
	VPSRAD $31, Y6, Y0
	VPSRAD $31, Y7, Y1
	VPAND Y0, Y8, Y8
	VPAND Y1, Y9, Y9
	VPGATHERDD Y6, (BX)(Y2*4), Y4
	VPGATHERDD Y7, (BX)(Y3*4), Y5
	VPSRLVD Y8, Y4, Y4
	VPSRLVD Y9, Y5, Y5
	VPAND Y14, Y4, Y4
	VPAND Y14, Y5, Y5
	JMP store

done:
	VZEROUPPER
	RET
