package strictjson

import "math"

const (
	defaultSize  = 64 << 20
	defaultDepth = 64

	maxSize  = math.MaxInt32 // values hold their offsets in 32 bits
	maxDepth = 10000         // the scanner is recursive, and a goroutine's stack is finite
)

// Limits bounds the documents that are accepted. A field that is not positive has its
// default.
type Limits struct {
	// Size is the most bytes that a document may have; by default 64 MiB, at most 2 GiB
	// less one.
	Size int64
	// Depth is how deep arrays and objects may be nested; by default 64, at most 10000.
	Depth int
	// Repeated is the JSON pointer of an object in which several members may have one
	// name; "" is none. [Value.Members] yields them all.
	Repeated string
}

func (l Limits) size() int64 {
	if l.Size <= 0 {
		return defaultSize
	}
	return min(l.Size, maxSize)
}

// Check returns the [*Error] with which [Parse] refuses a document of so many bytes, or
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
