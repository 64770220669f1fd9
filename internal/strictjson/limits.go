// SPDX-License-Identifier: Apache-2.0

package strictjson

import "math"

const (
	defaultSize  = 64 << 20
	defaultDepth = 64

	maxSize  = math.MaxInt32 // values store offsets in 32 bits
	maxDepth = 10000         // the scanner is recursive, and stacks of goroutines are finite
)

// Limits bounds the documents that are accepted. A field that is not positive means the
// default.
type Limits struct {
	// Size is the maximum size of a document in bytes. The default is 64 MiB, the
	// maximum 2 GiB minus one.
	Size int64
	// Depth is the maximum nesting of arrays and objects. The default is 64, the
	// maximum 10000.
	Depth int
	// Repeated is the JSON pointer of an object that may repeat names, or "" for
	// none. [Value.Members] yields all its members. Names in this object may also have
	// escapes of halves of surrogate pairs, as Python writes names of files that are not
	// UTF-8. Members yields such a half as the three bytes that it would have in UTF-8,
	// so the name is not valid UTF-8 and equals no other one; [AppendQuote] escapes it.
	Repeated string
}

func (l Limits) size() int64 {
	if l.Size <= 0 {
		return defaultSize
	}
	return min(l.Size, maxSize)
}

// Check returns the [*Error] with which [Parse] refuses a document of the given size, or
// nil.
func (l Limits) Check(bytes int) error {
	if size := l.size(); int64(bytes) > size {
		return &Error{Err: because(ErrLimit, "document of %d bytes, at most %d are allowed", bytes, size)}
	}
	return nil
}

func (l Limits) depth() int {
	if l.Depth <= 0 {
		return defaultDepth
	}
	return min(l.Depth, maxDepth)
}
