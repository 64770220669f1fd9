// Package argument parses arguments and flags that name axes, lengths and elements.
package argument
