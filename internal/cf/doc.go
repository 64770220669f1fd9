// SPDX-License-Identifier: Apache-2.0

// Package cf implements the public package cf, and has what only this module needs of
// the CF conventions: it compares attributes and axes of arrays, compares elements with
// values of a condition, and finds coordinates that are out of order.
package cf
