package store

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve.dev/zarr/internal/own"
)

// ErrInvalidKey says that a text is no legal key, node path or node name.
// The message names the offending segment.
var ErrInvalidKey = errors.New("store: invalid key")

// maxKeyLength is the longest key in bytes; object stores allow 1024.
const maxKeyLength = 1024

// Key names one value of a store: segments separated by '/', as in "t2m/c/0/1". A Key
// made by [ParseKey] is legal on every store: valid UTF-8, no empty, "." or ".." segment,
// no NUL or other control character, no backslash, and no segment that looks like a
// Windows drive. The zero Key names nothing.
type Key struct{ s string }

// ParseKey returns the key that s spells, or an error that wraps [ErrInvalidKey].
func ParseKey(s string) (Key, error) {
	if s == "" {
		return Key{}, fmt.Errorf("%w: empty", ErrInvalidKey)
	}
	if err := checkSegments(s); err != nil {
		return Key{}, err
	}
	return Key{s}, nil
}

// MustKey is ParseKey for constants; it panics where ParseKey fails.
func MustKey(s string) Key {
	k, err := ParseKey(s)
	if err != nil {
		panic(err)
	}
	return k
}

// String returns the key as it is stored.
func (k Key) String() string { return k.s }

// IsZero reports whether k is the zero Key.
func (k Key) IsZero() bool { return k.s == "" }

// Dir returns the path of the segments before the last one.
func (k Key) Dir() Path {
	i := strings.LastIndexByte(k.s, '/')
	if i < 0 {
		return Path{}
	}
	return Path{k.s[:i]}
}

// Base returns the last segment.
func (k Key) Base() string { return k.s[strings.LastIndexByte(k.s, '/')+1:] }

// Path names a node of a hierarchy, or a directory of keys. The zero Path is the root.
type Path struct{ s string }

// ParsePath returns the node path that s spells: "" or "/" is the root, a leading slash
// is permitted. Besides the rules of [ParseKey], every segment has to be a legal node
// name (zarr-specs v3 core, "Node names"): not made of periods only, not "zarr.json", and
// not one that Varve keeps for itself, as "__varve". Other names with "__" in front are
// read in both formats.
func ParsePath(s string) (Path, error) {
	s = strings.TrimPrefix(s, "/")
	if s == "" {
		return Path{}, nil
	}
	if err := checkSegments(s); err != nil {
		return Path{}, err
	}
	for name := range strings.SplitSeq(s, "/") {
		if err := checkName(name); err != nil {
			return Path{}, err
		}
	}
	return Path{s}, nil
}

// String returns the path without a leading slash; the root is "".
func (p Path) String() string { return p.s }

// IsRoot reports whether p is the root.
func (p Path) IsRoot() bool { return p.s == "" }

// Name returns the last segment, "" for the root.
func (p Path) Name() string { return p.s[strings.LastIndexByte(p.s, '/')+1:] }

// Parent returns the path one level up; the root is its own parent.
func (p Path) Parent() Path {
	i := strings.LastIndexByte(p.s, '/')
	if i < 0 {
		return Path{}
	}
	return Path{p.s[:i]}
}

// Join returns the path of the node rel below p, or an error that wraps [ErrInvalidKey].
func (p Path) Join(rel string) (Path, error) {
	c, err := ParsePath(rel)
	switch {
	case err != nil || p.IsRoot():
		return c, err
	case c.IsRoot():
		return p, nil
	}
	return ParsePath(p.s + "/" + c.s)
}

// Key returns the key of the value rel below p, as "zarr.json" or "c/0/1".
// rel has to be a legal key; this is the fast way for keys that the program makes itself.
func (p Path) Key(rel string) Key {
	if p.s == "" {
		return Key{rel}
	}
	return Key{p.s + "/" + rel}
}

// Contains reports whether k lies below p.
func (p Path) Contains(k Key) bool {
	return p.s == "" || len(k.s) > len(p.s) && k.s[len(p.s)] == '/' && k.s[:len(p.s)] == p.s
}

// Rel returns the part of k below p. It is "" where k does not lie below p.
func (p Path) Rel(k Key) string {
	switch {
	case !p.Contains(k):
		return ""
	case p.s == "":
		return k.s
	}
	return k.s[len(p.s)+1:]
}

func checkSegments(s string) error {
	if len(s) > maxKeyLength {
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrInvalidKey, len(s), maxKeyLength)
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%w: %q is not valid UTF-8", ErrInvalidKey, s)
	}
	for seg := range strings.SplitSeq(s, "/") {
		if err := checkSegment(seg); err != nil {
			return fmt.Errorf("%w %q: %s", ErrInvalidKey, s, err)
		}
	}
	return nil
}

func checkSegment(seg string) error {
	switch {
	case seg == "":
		return errors.New("empty segment (a slash too many)")
	case seg == "." || seg == "..":
		return fmt.Errorf("segment %q leaves its place", seg)
	case len(seg) >= 2 && seg[1] == ':' && isLetter(seg[0]):
		return fmt.Errorf("segment %q looks like a drive", seg)
	case strings.ContainsFunc(seg, func(r rune) bool { return unicode.IsControl(r) || r == '\\' }):
		return fmt.Errorf("segment %q has a control character or a backslash", seg)
	}
	return nil
}

func checkName(name string) error {
	switch {
	case strings.Trim(name, ".") == "":
		return fmt.Errorf("%w: node name %q is made of periods only", ErrInvalidKey, name)
	case own.Is(name):
		return fmt.Errorf("%w: node name %q is reserved: Varve keeps it for itself", ErrInvalidKey, name)
	case name == "zarr.json":
		return fmt.Errorf("%w: a node must not be named %q", ErrInvalidKey, name)
	}
	return nil
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
