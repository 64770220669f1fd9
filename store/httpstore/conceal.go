package httpstore

import (
	"context"
	"net/url"
	"strings"
)

// concealed is a URL with what is secret, under the name that is shown for it.
type concealed struct {
	shown, real string
	next        *concealed
}

// concealedKey is the key of [Conceal].
type concealedKey struct{}

// Conceal returns a URL as it may be shown, see [Redact], and a context in which it
// stands for the whole one: locations that are it, or go on behind it with a slash, are
// opened with its user, its password and its query. So a program can show and extend what
// it was given. A location without anything secret is returned as it is.
func Conceal(ctx context.Context, location string) (context.Context, string) {
	u, err := url.Parse(location)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User == nil && u.RawQuery == "" && u.Fragment == "" {
		return ctx, location
	}
	before, _ := ctx.Value(concealedKey{}).(*concealed)
	shown := strings.TrimRight(Redact(location), "/")
	return context.WithValue(ctx, concealedKey{}, &concealed{shown, location, before}), shown
}

// Reveal returns the whole URL that a location stands for in the context; see [Conceal].
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
