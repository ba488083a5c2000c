/** Builds the pages into dist/, which the service serves below /profile/developer. */
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { compressAssets } from './build/compress-assets.ts';

export default defineConfig({
  // The service writes the address into the page; everything else finds itself from there.
  base: './',
  plugins: [react(), compressAssets()],
  build: {
    target: 'es2022',
    // Nothing is fetched ahead: what is loaded later has no scripts of its own to wait for, and the page's policy no helper.
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_000,
  },
});
