// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"context"
	"net/url"
	"strings"
)

// concealed is a URL with secrets and its text for display.
type concealed struct {
	shown, real string
	next        *concealed
}

// concealedKey is the context key of [Conceal].
type concealedKey struct{}

// Conceal returns a URL without its secrets (see [Redact]), and a context in which that
// text stands for the whole URL. A location that equals the text, or extends it with a
// slash, is then opened with the user, password and query of the URL. So a program can
// display and extend a URL without its secrets. A location without secrets is returned
// unchanged.
func Conceal(ctx context.Context, location string) (context.Context, string) {
	u, err := url.Parse(location)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User == nil && u.RawQuery == "" && u.Fragment == "" {
		return ctx, location
	}
	before, _ := ctx.Value(concealedKey{}).(*concealed)
	shown := strings.TrimRight(Redact(location), "/")
	return context.WithValue(ctx, concealedKey{}, &concealed{shown, location, before}), shown
}

// Reveal returns the whole URL for a location in ctx; see [Conceal]. If several URLs
// match, it uses the longest.
func Reveal(ctx context.Context, location string) string {
	var found *concealed
	c, _ := ctx.Value(concealedKey{}).(*concealed)
	for ; c != nil; c = c.next {
		rest, ok := strings.CutPrefix(location, c.shown)
		if ok && (rest == "" || rest[0] == '/') && (found == nil || len(c.shown) > len(found.shown)) {
			found = c
		}
	}
	if found == nil {
		return location
	}
	u, err := url.Parse(found.real)
	rest, restErr := url.Parse(location)
	if err != nil || restErr != nil {
		return location
	}
	u.Path, u.RawPath = rest.Path, rest.RawPath
	return u.String()
}
