// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package extremes

import (
	"encoding/binary"
	"math"

	"golang.org/x/sys/cpu"
)

// hasAVX2 reports whether the processor runs the generated code.
var hasAVX2 = cpu.X86.HasAVX2

// width is the size of a register in bytes.
const width = 32

// constants are what the generated code compares numbers with, in all lanes.
type constants struct{ flip, absent, enabled, filled, largest, infinity [width]byte }

// lanes are the results of the generated code, by lane.
type lanes struct{ least, most, missing, nan, fill [width]byte }

// most is how many registers of numbers of one byte, and of two, are scanned at once: the
// counts have as many bits as the numbers.
const (
	mostBytes  = 1<<8 - 1
	mostShorts = 1<<16 - 1
)

// Scan scans numbers from the beginning of data on, and returns what it has found and how
// many bytes it has scanned.
func (n *Numbers) Scan(data []byte) (f Found, done int) {
	if len(data) < 4*width || !hasAVX2 {
		return f, 0
	}
	shift := 64 - 8*n.Size
	var of constants
	if !n.Signed {
		n.spread(&of.flip, 1<<63>>shift)
	}
	n.spread(&of.absent, uint64(n.Absent))
	if n.HasAbsent {
		n.spread(&of.enabled, math.MaxUint64)
	}
	n.spread(&of.filled, uint64(n.Fill))
	n.spread(&of.largest, math.MaxUint64>>(shift+1))
	scan, most := scan8, len(data)
	switch {
	case n.Float && n.Size == 4:
		n.spread(&of.infinity, 0x7f800000)
		scan = scanFloat4
	case n.Float:
		n.spread(&of.infinity, 0x7ff<<52)
		scan = scanFloat8
	case n.Size == 1:
		scan, most = scan1, mostBytes
	case n.Size == 2:
		scan, most = scan2, mostShorts
	case n.Size == 4:
		scan = scan4
	}
	f.Least, f.Most = math.MaxInt64, math.MinInt64
	for len(data)-done >= width {
		var to lanes
		k := min((len(data)-done)/width, most)
		scan(&data[done], k, &of.flip[0], &to.least[0])
		done += k * width
		for i := 0; i < width; i += n.Size {
			f.Least, f.Most = min(f.Least, n.lane(&to.least, i)), max(f.Most, n.lane(&to.most, i))
			f.Missing += n.count(&to.missing, i)
			f.NaN += n.count(&to.nan, i)
			f.Fill += n.count(&to.fill, i)
		}
	}
	return f, done
}

// spread sets all lanes to a number.
func (n *Numbers) spread(to *[width]byte, bits uint64) {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], bits)
	for i := 0; i < width; i += n.Size {
		copy(to[i:], one[:n.Size])
	}
}

// count returns the number in the lane that begins at byte i, which has no sign.
func (n *Numbers) count(of *[width]byte, i int) int64 {
	var one [8]byte
	copy(one[:], of[i:i+n.Size])
	return int64(binary.NativeEndian.Uint64(one[:]))
}

// lane is count for a number with a sign.
func (n *Numbers) lane(of *[width]byte, i int) int64 {
	shift := 64 - 8*n.Size
	return n.count(of, i) << shift >> shift
}
