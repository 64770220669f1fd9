// SPDX-License-Identifier: Apache-2.0

package rechunk

import "varve.dev/zarr/internal/staging"

// Report says what a rechunk has done.
type Report struct {
	// Changed is false if the array had the wanted grid already.
	Changed bool
	// Staged counts the chunks that were stored, also those that were staged again
	// because their sources had changed.
	Staged Counts
	// Freed is how many bytes of superseded grids were deleted first, see
	// [Options.Grace].
	Freed int64
	// Again is how often the array had to be compared again because of other writers.
	Again int
	// Policy says how the stored growth policy (rewrite.GrowthAttribute) has changed,
	// because the new grid contradicts it. It is "" if it has not.
	Policy string
	// Strategy is how [Follow] has published: that of [NewFollowPlan]. After [Do], it is
	// "".
	Strategy string
}

// Counts are what was staged.
type Counts struct {
	Cloned, Arranged, Encoded int64 // chunks of the new grid that are stored; see [Plan]
	Dropped                   int64 // chunks of the new grid that have only the fill value
	BytesCopied               int64 // of encoded chunks, without decoding
	BytesLinked               int64 // of encoded chunks that share their bytes with the old ones
	BytesDecoded              int64 // of elements that were decoded
	BytesEncoded              int64 // of elements that were encoded, before compression
	Scratch, BytesScratch     int64 // objects between stages, and their bytes
}

// Add adds o to c.
func (c *Counts) Add(o Counts) {
	sum := staging.Counts(*c)
	sum.Add(staging.Counts(o))
	*c = Counts(sum)
}
