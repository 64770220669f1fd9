// SPDX-License-Identifier: Apache-2.0

// Package numpy finds the values of .npy files, which package npy describes. Such a file
// has one array without a name; here it is called "array". All its values are one chunk.
package numpy
