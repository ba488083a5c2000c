import type { DeliveryStats } from '../api/types.ts';
import classes from './chart.module.css';
import { countOutcomes, outcomeLabels, type Outcome } from './count-outcomes.ts';
import { StackedChart } from './stacked-chart.tsx';

const kinds = (Object.keys(outcomeLabels) as Outcome[]).map((key) => ({
  key,
  name: outcomeLabels[key],
  className: classes[key],
  isRare: key.startsWith('cancelled'),
}));

type Props = { stats: DeliveryStats; listOf: (start: string) => string; isStrip?: boolean };

export function CountsChart({ stats: { periods, periodHours }, listOf, isStrip = false }: Props) {
  return (
    <StackedChart
      title="Deliveries"
      kinds={kinds}
      periods={periods.map((period) => ({
        start: period.start,
        counts: countOutcomes(period),
        to: listOf(period.start),
      }))}
      periodHours={periodHours}
      none="no deliveries"
      isStrip={isStrip}
    />
  );
}
