package cpu

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOverride(t *testing.T) {
	for _, tier := range Tiers() {
		got, err := Override(tier.String())
		require.NoError(t, err)
		assert.Equal(t, tier, got)
	}
	got, err := Override("")
	require.NoError(t, err)
	assert.Equal(t, Detected(), got)
	got, err = Override("sse9")
	assert.ErrorContains(t, err, "sse9")
	assert.Equal(t, Detected(), got)
	if Detected() < AVX512VNNI {
		_, err = Override("avx512vnni")
		assert.Error(t, err)
	}
}

func TestParseTier(t *testing.T) {
	for tier := Generic; tier <= AVX512VNNI; tier++ {
		got, err := ParseTier(tier.String())
		require.NoError(t, err)
		assert.Equal(t, tier, got)
	}
}
