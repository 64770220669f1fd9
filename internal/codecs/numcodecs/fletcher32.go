// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"encoding/binary"

	"varve.dev/zarr/metadata"
)

func init() {
	f := func(configuration []byte) (any, error) {
		if err := decode("fletcher32", configuration, &struct{}{}); err != nil {
			return nil, err
		}
		return checksum{"fletcher32", false, fletcher32}, nil
	}
	register("fletcher32", f, "fletcher32", "https://codec.zarrs.dev/bytes_to_bytes/fletcher32")
}

// Fletcher32 returns the metadata of numcodecs.fletcher32, the checksum of HDF5 and
// netCDF-4, a variant of Fletcher's. It is stored after the data and has no
// configuration.
func Fletcher32() metadata.Extension { return extension("fletcher32", `{}`) }

// fletcher32 sums 16-bit big-endian words, and these sums. Both are taken modulo 65535,
// where any nonzero multiple becomes 65535. The result depends only on the exact sums, so
// they are folded as rarely as 64 bits permit.
func fletcher32(data []byte) uint32 {
	const stretch = 1 << 20 // bytes: sums stay below 2^56
	var a, b uint64
	for len(data) > 1 {
		n := min(len(data)&^1, stretch)
		a, b = fletcherWords(a, b, data[:n])
		a, b, data = fold(a), fold(b), data[n:]
	}
	if len(data) == 1 {
		// A single last byte is the high half of a word.
		a += uint64(data[0]) << 8
		b += a
	}
	return uint32(fold(b)<<16 | fold(a))
}

// fletcherWords adds an even number of bytes, four words at a time.
func fletcherWords(a, b uint64, data []byte) (uint64, uint64) {
	for len(data) >= 8 {
		v := binary.BigEndian.Uint64(data)
		// Four words at once: b grows by the four sums that a would have after each.
		w0, w1, w2, w3 := v>>48, v>>32&0xffff, v>>16&0xffff, v&0xffff
		b += 4*(a+w0) + 3*w1 + 2*w2 + w3
		a += w0 + w1 + w2 + w3
		data = data[8:]
	}
	for len(data) >= 2 {
		a += uint64(binary.BigEndian.Uint16(data))
		b += a
		data = data[2:]
	}
	return a, b
}

// fold returns s modulo 65535 as a number from 1 to 65535, but 0 for 0.
func fold(s uint64) uint64 {
	for s > 0xffff {
		s = s&0xffff + s>>16
	}
	return s
}
