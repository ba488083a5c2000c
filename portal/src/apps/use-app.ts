import { useQuery } from '@tanstack/react-query';
import { useParams } from 'react-router';
import { app } from '../api/operations.ts';
import type { PortalApp } from '../api/types.ts';

/** The app of the address; undefined while it loads. */
export function useApp(): PortalApp | undefined {
  const { appId = '' } = useParams();
  return useQuery(app(appId)).data;
}
