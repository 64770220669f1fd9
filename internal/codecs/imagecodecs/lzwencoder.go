// SPDX-License-Identifier: Apache-2.0

package imagecodecs

import "sync"

// lzwEncoders are shared by all arrays. An encoder takes 64 KiB.
var lzwEncoders = sync.Pool{New: func() any { return new(lzwEncoder) }}

// slots is the number of places for strings, four for each code, so that most strings
// are found at once.
const slots = 4 * codes

// lzwEncoder has the codes of strings in a hash table. A string is a code and the byte
// that follows: 20 bits, which stand above the 12 bits of its own code. An empty slot is
// 0.
type lzwEncoder struct {
	strings [slots]uint32
	out     []byte
	word    uint64 // bits that were not written yet, the last one lowest
	held    int    // their number, fewer than 8 between codes
	next    int    // the code of the next string
	width   int    // of the next code in bits
}

// encode appends the encoded form of src to dst.
func (e *lzwEncoder) encode(dst, src []byte) []byte {
	e.out, e.word, e.held = dst, 0, 0
	e.width = minWidth
	e.forget()
	if len(src) > 0 {
		code := uint32(src[0])
		for _, b := range src[1:] {
			code = e.add(code, b)
		}
		e.put(int(code))
		e.grow()
	}
	e.put(endCode)
	if e.held > 0 {
		e.out = append(e.out, byte(e.word<<(8-e.held)))
	}
	out := e.out
	// The pool must not keep the buffer of the caller.
	e.out = nil
	return out
}

// add returns the code of the string that code stands for and one more byte. If it has
// none yet, it writes code, gives the string the next one, and returns the byte.
func (e *lzwEncoder) add(code uint32, b byte) uint32 {
	key := code<<8 | uint32(b)
	at := key * 0x9e3779b1 >> (32 - 14) // by the golden ratio; there are 1<<14 slots
	for ; e.strings[at] != 0; at = (at + 1) % slots {
		if e.strings[at]>>maxWidth == key {
			return e.strings[at] & (codes - 1)
		}
	}
	e.strings[at] = key<<maxWidth | uint32(e.next)
	e.put(int(code))
	e.grow()
	return uint32(b)
}

// grow counts a string. It forgets all before the last two codes are used, as libtiff
// does; some decoders have no room for them.
func (e *lzwEncoder) grow() {
	e.next++
	switch {
	case e.next == codes-2:
		e.forget()
	case e.next == 1<<e.width:
		e.width++
	}
}

// forget writes a clear code and begins anew.
func (e *lzwEncoder) forget() {
	e.put(clearCode)
	clear(e.strings[:])
	e.next, e.width = firstCode, minWidth
}

// put writes a code.
func (e *lzwEncoder) put(code int) {
	e.word = e.word<<e.width | uint64(code)
	e.held += e.width
	for ; e.held >= 8; e.held -= 8 {
		e.out = append(e.out, byte(e.word>>(e.held-8)))
	}
}
