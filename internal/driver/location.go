// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"strings"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
)

// locationError is an error about a location. It is [store.ErrInvalidKey], whose text
// would say less than its own.
type locationError struct{ error }

func (l locationError) Is(target error) bool { return target == store.ErrInvalidKey }
func (l locationError) Unwrap() error        { return l.error }

// BadLocation returns an error about a location that is malformed, such as one without a
// bucket or with an unknown option. It is [store.ErrInvalidKey] to [errors.Is]. Drivers
// say what to write instead.
func BadLocation(format string, args ...any) error {
	return locationError{fmt.Errorf(format, args...)}
}

// UnknownOption returns the error of a location with an option that is none of the known
// ones. It proposes one with a similar name. Text that does not look like a name may be a
// secret, so it is not shown.
func UnknownOption(name string, known []string) error {
	meant, least := "", max(1, len(name)/3)+1
	for _, k := range known {
		if d := distance(name, k); d < least {
			meant, least = " (did you mean "+k+"?)", d
		}
	}
	shown := "such option"
	if isOption(name) {
		shown = fmt.Sprintf("option %q", name)
	}
	return BadLocation("there is no %s%s; the options are %s", shown, meant, strings.Join(known, ", "))
}

// isOption reports whether text looks like the name of an option.
func isOption(text string) bool {
	return len(text) <= 40 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz_") == ""
}

// longestOption bounds the length of compared names, because the cost is the product of
// the lengths.
const longestOption = 100

// distance returns how many bytes must be changed, inserted or deleted to turn one name
// into the other.
func distance(a, b string) int {
	if len(a) > longestOption {
		return longestOption
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0] // of the row before
		row[0] = i + 1
		for j := range len(b) {
			change := last
			if a[i] != b[j] {
				change++
			}
			last, row[j+1] = row[j+1], min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// LocationPath returns the path of a location, which follows the slash after the
// bucket, without a slash at its end. A path with an empty segment is refused: object
// stores have such names, but a [store.Key] does not, and leaving the segment out would
// name other objects.
func LocationPath(path string) (string, error) {
	path = strings.TrimSuffix(path, "/")
	if strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") || strings.Contains(path, "//") {
		return "", BadLocation("the path%s has an empty segment: two slashes in a row; names of objects with one cannot be used here, so write one slash or rename the objects", shownPath(path))
	}
	return path, nil
}

// mostShown is the largest number of bytes of a path in an error.
const mostShown = 80

// shownPath returns the beginning of a path for an error, after a space. The text before
// '@' may be the end of a secret with slashes, so a path with '@' is not shown.
func shownPath(path string) string {
	if strings.Contains(path, "@") {
		return ""
	}
	if len(path) > mostShown {
		return fmt.Sprintf(" %q…", strings.ToValidUTF8(path[:mostShown], ""))
	}
	return fmt.Sprintf(" %q", path)
}

// CutPath cuts a path after its first segment that ends in a suffix, as in ".zarr". The
// suffix alone is not a name. It returns the path up to there and the rest, without the
// slash between them. Without such a segment it returns the whole path. Drivers
// find the root of a store in a location with it.
func CutPath(path string, suffixes ...string) (root, rest string, found bool) {
	at := 0
	for segment := range strings.SplitSeq(path, "/") {
		at += len(segment)
		if own.EndsIn(segment, suffixes...) {
			return path[:at], strings.TrimPrefix(path[at:], "/"), true
		}
		at++ // the slash
	}
	return path, "", false
}

// OpenPath opens what the path of a location leads to. The store begins at the first
// segment whose name ends in ".zarr", and open opens it; the rest is the path of a node.
// Without such a segment the store is the whole path. archive opens one whose name ends
// as [own.Archives] do, and the path in it.
func OpenPath(
	path string, open func(root string) (store.Store, error), archive func(name, rel string) (store.Store, store.Path, error),
) (store.Store, store.Path, error) {
	if name, rel, found := CutPath(path, own.Archives...); found {
		return archive(name, rel)
	}
	root, rel, _ := CutPath(path, ".zarr")
	at, err := store.ParsePath(rel)
	if err != nil {
		return nil, store.Path{}, err
	}
	s, err := open(root)
	if err != nil {
		return nil, store.Path{}, err
	}
	return s, at, nil
}
