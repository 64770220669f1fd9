// SPDX-License-Identifier: Apache-2.0

package blosc

import "varve.dev/zarr/internal/budget"

// Every frame says how it is shuffled, so each chunk can be shuffled in its own way. The
// best one depends on the data: shuffling helps numbers that change a little, and harms
// values that repeat, such as codes, or zeros between other values.

const (
	mostSampled  = 64 << 10 // bytes of a sample, at most
	sampleShare  = 4        // a sample has at most this part of the content
	samplePieces = 4        // it has pieces from everywhere, as parts of a chunk may differ
	leastPiece   = 1 << 10  // bytes of a piece, at least
	sampleLevel  = 3        // faster, and as good a judge as higher ones
	leastSaved   = 32       // the configured shuffle stays unless another one saves this part
)

// EncodeAdapted implements [codec.Adapter]: it encodes with the shuffle that makes a
// sample of src the smallest. The configured one stays if src is short, or if no other
// saves at least a thirty-second.
func (c coder) EncodeAdapted(dst, src []byte) ([]byte, error) {
	n := min(mostSampled, len(src)/sampleShare)
	if c.level == 0 || n < samplePieces*max(leastPiece, c.element) {
		return c.Encode(dst, src)
	}
	sample := budget.Get(int64(n))
	defer sample.Put()
	sample.B = c.appendSample(sample.B, src, n)
	best, err := c.bestFilter(sample.B)
	if err != nil {
		return dst, err
	}
	c.filter = best
	return c.Encode(dst, src)
}

// appendSample appends pieces of src to dst, together at most n bytes. They are whole
// elements at equal distances, the first and the last of src among them.
func (c coder) appendSample(dst, src []byte, n int) []byte {
	piece := n / samplePieces / c.element * c.element
	for i := range samplePieces {
		at := (len(src) - piece) / c.element * i / (samplePieces - 1) * c.element
		dst = append(dst, src[at:at+piece]...)
	}
	return dst
}

// bestFilter returns the filter for data like the sample.
func (c coder) bestFilter(sample []byte) (filter, error) {
	frame := budget.Get(int64(headerSize + len(sample)))
	defer frame.Put()
	c.level = min(c.level, sampleLevel)
	out, err := c.Encode(frame.B, sample)
	configured := c.filter
	best, least := configured, len(out)-len(out)/leastSaved
	// The order is fixed, so that equal data are always encoded equally.
	for _, c.filter = range [...]filter{byBytes, noFilter, byBits} {
		if err != nil || c.filter == configured {
			continue
		}
		if out, err = c.Encode(frame.B, sample); len(out) < least {
			best, least = c.filter, len(out)
		}
	}
	return best, err
}
